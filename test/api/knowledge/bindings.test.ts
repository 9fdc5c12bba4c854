import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { makeBase } from './base-calls.ts';
import { execute } from './search-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const revise = (token: string, agentId: string, knowledge: readonly object[]) =>
  world.call(token, 'POST', `/agents/${agentId}/revisions`, { body: { document: { model: 'builtin/extractive', knowledge } } });
const refsOf = (column: 'revision_id' | 'persona_id', id: string) =>
  sweep(world.api.db, (em) =>
    rows<{ target_id: string }>(em, `select target_id from agent_refs where ${column} = ? and kind = 'knowledge' order by target_id`, [id]),
  ).then((found) => found.map((ref) => ref.target_id));

test('a revision binds bases by id or slug with their defaults, and keeps which', async () => {
  const { tokens } = await world.tenant();
  const [one, two] = [await makeBase(world, tokens.admin), await makeBase(world, tokens.admin)];
  const agent = await makeAgent(world, tokens.admin);

  const made = await revise(tokens.admin, agent.id, [{ slug: one.slug }, { id: two.id, access: 'write', mode: 'both', top_k: 9 }]);
  const twice = await revise(tokens.admin, agent.id, [{ slug: one.slug }, { id: one.id }]);

  expect(made.status).toBe(201);
  expect(made.body.document.knowledge).toMatchObject([
    { id: one.id, slug: one.slug, access: 'read', mode: 'tool', top_k: 5 },
    { id: two.id, access: 'write', mode: 'both', top_k: 9 },
  ]);
  expect(await refsOf('revision_id', made.body.id)).toEqual([one.id, two.id].toSorted());
  expect(twice).toMatchObject({ status: 422, body: { errors: [{ pointer: '/document/knowledge/1', rule: 'uniqueItems' }] } });
});

test('a base that is unknown, deleted, private or of another tenant is the same unknown reference to whoever may not read it', async () => {
  const [tenant, other] = [await world.tenant(), await world.tenant()];
  const { tokens } = tenant;
  const agent = await makeAgent(world, tokens.admin);
  const foreign = await makeBase(world, other.tokens.admin);
  const hidden = await makeBase(world, tokens.admin, { is_private: true });
  const deleted = await makeBase(world, tokens.admin);
  await world.call(tokens.admin, 'DELETE', `/knowledge-bases/${deleted.id}`, { headers: { 'if-match': '*' } });
  const unknown = crypto.randomUUID();

  const refused = await Promise.all([unknown, foreign.id, hidden.id, deleted.id].map((id) => revise(tokens.member, agent.id, [{ id }])));
  await execute(world, 'update knowledge_bases set owner_agent_id = ? where id = ?', [agent.id, hidden.id]);
  const owned = await revise(tokens.member, agent.id, [{ id: hidden.id }]);

  expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422]);
  const errors = refused.map(({ body }) => body.errors);
  for (const [error] of errors) expect(error).toMatchObject({ pointer: '/document/knowledge/0', rule: 'reference' });
  expect(new Set(errors.map((of) => JSON.stringify(of))).size).toBe(1);
  expect(owned.status).toBe(201);
});

test('which bases a persona names is kept anew with each change, and ends with it', async () => {
  const { tokens } = await world.tenant();
  const [one, two] = [await makeBase(world, tokens.admin), await makeBase(world, tokens.admin)];
  const agent = await makeAgent(world, tokens.admin);
  const path = `/agents/${agent.id}/personas`;
  const body = { slug: 'p', name: 'P', knowledge: [{ slug: one.slug }] };
  const made = await world.call(tokens.admin, 'POST', path, { body });
  const id: string = made.body.id;
  const first = await refsOf('persona_id', id);
  const knowledge = [{ slug: two.slug, mode: 'inject' }];

  const changed = await world.call(tokens.admin, 'PATCH', `${path}/${id}`, { body: { knowledge }, headers: { 'if-match': '*' } });
  const second = await refsOf('persona_id', id);
  const gone = await world.call(tokens.admin, 'DELETE', `${path}/${id}`, { headers: { 'if-match': '*' } });

  expect([made.status, changed.status, gone.status]).toEqual([201, 200, 204]);
  expect([first, second, await refsOf('persona_id', id)]).toEqual([[one.id], [two.id], []]);
});

test('the effective configuration names bases of revision and persona, and the tools that come with them', async () => {
  const { tokens } = await world.tenant();
  const [one, two] = [await makeBase(world, tokens.admin), await makeBase(world, tokens.admin)];
  const agent = await makeAgent(world, tokens.admin, {
    revision: { model: 'builtin/extractive', knowledge: [{ slug: one.slug, mode: 'inject' }], approvals: { write: 'ask' } },
  });
  const body = { slug: 'p', name: 'P', knowledge: [{ slug: two.slug, access: 'write' }] };
  await world.call(tokens.admin, 'POST', `/agents/${agent.id}/personas`, { body });

  const [plain, worn] = [
    await world.call(tokens.member, 'GET', `/agents/${agent.id}/effective`),
    await world.call(tokens.member, 'GET', `/agents/${agent.id}/effective?persona_slug=p`),
  ];

  const toolsOf = ({ body }: typeof plain) => body.tools.map(({ name }: { name: string }) => name);
  expect(toolsOf(plain)).toEqual([]);
  expect(toolsOf(worn)).toEqual(['knowledge_search', 'knowledge_write']);
  expect(worn.body.tools[1]).toMatchObject({ effect: 'write', approval: { required: true, reason: 'effect' } });
  expect(worn.body.knowledge.map(({ id }: { id: string }) => id)).toEqual([one.id, two.id]);
});
