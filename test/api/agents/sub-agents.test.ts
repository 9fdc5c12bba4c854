import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const availableTo = async (token: string, agent: { id: string }, query = '') => {
  const listed = await world.call(token, 'GET', `/agents/${agent.id}/available-sub-agents${query}`);
  return listed.body.items.map((item: { slug: string }) => item.slug);
};

test('an agent may ask active agents of its scope or a wider one by name, not itself', async () => {
  const { tokens } = await world.tenant();
  const foreign = await world.tenant();
  await makeAgent(world, foreign.tokens.admin, { slug: 'foreign' });
  const asking = await makeAgent(world, tokens.admin, { slug: 'asking', name: 'Z' });
  await makeAgent(world, tokens.admin, { slug: 'second', name: 'B' });
  const schema = { type: 'object', properties: { city: { type: 'string' } } };
  const first = await makeAgent(world, tokens.admin, { slug: 'first', name: 'A', revision: { input_schema: schema } });
  await makeAgent(world, tokens.admin, { slug: 'off', is_active: false });
  await makeAgent(world, tokens.admin, { slug: 'draft', activate: false });

  const listed = await world.call(tokens.viewer, 'GET', `/agents/${asking.id}/available-sub-agents`);

  expect(listed.body.items.map((item: { slug: string }) => item.slug)).toEqual(['first', 'second']);
  expect(listed.body.items[0]).toEqual({
    id: first.id,
    slug: 'first',
    name: 'A',
    description: null,
    scope: first.scope,
    avatar_preset: null,
    image_url: null,
    active_revision_id: first.active_revision_id,
    input_schema: schema,
  });
  expect(await availableTo(tokens.viewer, asking, '?q=SECO')).toEqual(['second']);
  expect((await world.call(tokens.viewer, 'GET', `/agents/${asking.id}/available-sub-agents?limit=1`)).status).toBe(422);
});

test('none that leads back is offered, over any number of agents', async () => {
  const { tokens } = await world.tenant();
  const base = await makeAgent(world, tokens.admin, { slug: 'base' });
  const middle = await makeAgent(world, tokens.admin, { slug: 'middle', revision: { sub_agents: [{ slug: 'base' }] } });
  await makeAgent(world, tokens.admin, { slug: 'top', revision: { sub_agents: [{ slug: 'middle' }] } });
  await makeAgent(world, tokens.admin, { slug: 'beside' });

  expect(await availableTo(tokens.viewer, base)).toEqual(['beside']);
  expect((await availableTo(tokens.viewer, middle)).toSorted()).toEqual(['base', 'beside']);
});
