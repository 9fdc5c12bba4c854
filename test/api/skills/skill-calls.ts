import type { Answer, World } from '../world.ts';

export const skillBody = { description: 'How to decide on a refund.', instructions: 'Read the order first.' };

/** A slug that no other test has. */
export const freeSlug = () => `skill-${Math.random().toString(36).slice(2, 10)}`;

/** Makes a skill; gives its view. */
export async function makeSkill(world: World, token: string, extra: Readonly<Record<string, unknown>> = {}): Promise<Answer['body']> {
  const made = await world.call(token, 'POST', '/skills', { body: { slug: freeSlug(), ...skillBody, ...extra } });
  if (made.status !== 201) throw new Error(`createSkill: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}

export function curate(world: World, token: string, id: string, body: Readonly<Record<string, unknown>>): Promise<Answer> {
  return world.call(token, 'POST', `/skills/${id}/curate`, { body });
}

/** Takes a pending skill to `promoted` at its version. */
export async function promote(world: World, token: string, skill: { id: string; version: number }): Promise<void> {
  for (const to of ['reviewed', 'promoted']) {
    const answer = await curate(world, token, skill.id, { to, version: skill.version });
    if (answer.status !== 200) throw new Error(`curateSkill ${to}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}
