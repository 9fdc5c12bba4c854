import type { Answer, World } from '../world.ts';

/** A slug that no other test has. */
export const freeSlug = () => `base-${Math.random().toString(36).slice(2, 10)}`;

/** Makes a base without embeddings; gives its view. */
export async function makeBase(world: World, token: string, extra: Readonly<Record<string, unknown>> = {}): Promise<Answer['body']> {
  const made = await world.call(token, 'POST', '/knowledge-bases', {
    body: { slug: freeSlug(), name: 'Handbook', embedding_model: 'none', ...extra },
  });
  if (made.status !== 201) throw new Error(`createKnowledgeBase: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}

/** Grants access to a base; gives the grant's view. */
export async function grant(world: World, token: string, kbId: string, body: Readonly<Record<string, unknown>>): Promise<Answer['body']> {
  const made = await world.call(token, 'POST', `/knowledge-bases/${kbId}/grants`, { body });
  if (made.status !== 201) throw new Error(`createKnowledgeGrant: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}

/** Ids of the bases that a list shows. */
export async function listed(world: World, token: string, filter = ''): Promise<string[]> {
  const answer = await world.call(token, 'GET', `/knowledge-bases?limit=200${filter}`);
  return answer.body.items.map((item: { id: string }) => item.id);
}
