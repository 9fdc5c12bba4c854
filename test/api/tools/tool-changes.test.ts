import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { sweep } from '../../../db/transaction.ts';
import { row, rows } from '../../../db/sql.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const http = { method: 'GET', url: 'https://api.example.com/things/{{ args.id }}' };

async function makeTool(token: string, body: object = {}) {
  const made = await world.call(token, 'POST', '/tools', {
    body: { slug: 'things', kind: 'http', description: 'x', config: http, ...body },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return made.body;
}

const versionsOf = (toolId: string) =>
  sweep(world.api.db, (em) =>
    rows<{ version: number; descriptor: Record<string, unknown> }>(
      em,
      'select version, descriptor from tool_versions where tool_id = ? order by version',
      [toolId],
    ),
  );

test('a change keeps what is not sent and writes a version only when a run would notice', async () => {
  const { tokens } = await world.tenant();
  const tool = await makeTool(tokens.admin);
  const change = (body: object) => world.call(tokens.admin, 'PATCH', `/tools/${tool.id}`, { body });

  await change({ display_name: 'Things' });
  await change({ is_active: false });
  expect(await versionsOf(tool.id)).toHaveLength(1);
  const changed = await change({ description: 'Finds things', critical: true, concurrency: 'exclusive' });

  expect(changed.body).toMatchObject({
    display_name: 'Things',
    is_active: false,
    description: 'Finds things',
    critical: true,
    config: tool.config,
  });
  expect(changed.headers['etag']).not.toBe(undefined);
  const [first, second] = await versionsOf(tool.id);
  expect(first?.descriptor).toMatchObject({ description: 'x', critical: false });
  expect(second).toMatchObject({ version: 2, descriptor: { description: 'Finds things', critical: true, concurrency: 'exclusive' } });
});

test('a GET that becomes a POST writes from now on, unless its author had said what it does', async () => {
  const { tokens } = await world.tenant();
  const tool = await makeTool(tokens.admin);
  const search = await makeTool(tokens.admin, { slug: 'search', config: { ...http, method: 'POST' }, effect: 'read' });
  const change = (id: string, body: object) => world.call(tokens.admin, 'PATCH', `/tools/${id}`, { body });

  expect((await change(tool.id, { config: { ...http, method: 'POST' } })).body).toMatchObject({ effect: 'write', concurrency: 'write' });
  expect((await change(search.id, { config: { ...http, method: 'PUT' } })).body).toMatchObject({ effect: 'read' });
});

test.each([
  ['a config of another kind', { config: { language: 'javascript' } }, '/config'],
  ['a private address', { config: { method: 'GET', url: 'https://10.0.0.1/' } }, '/config/url'],
  ['a schema that is none', { input_schema: { type: 'string' } }, '/input_schema/type'],
  ['a long timeout', { timeout_s: 601 }, '/timeout_s'],
  ['its kind', { kind: 'builtin' }, '/kind'],
  ['its slug', { slug: 'other' }, '/slug'],
  ['null where there is none', { description: null }, '/description'],
])('updateTool refuses %s', async (_name, body, pointer) => {
  const { tokens } = await world.tenant();
  const tool = await makeTool(tokens.admin);

  const refused = await world.call(tokens.admin, 'PATCH', `/tools/${tool.id}`, { body });

  expect(refused.status).toBe(422);
  expect(refused.body.errors.some((error: { pointer: string }) => error.pointer.startsWith(pointer))).toBe(true);
});

test('a stale ETag is 412, and of two changes with one ETag only one is made', async () => {
  const { tokens } = await world.tenant();
  const tool = await makeTool(tokens.admin);
  const { headers } = await world.call(tokens.admin, 'GET', `/tools/${tool.id}`);
  const change = (description: string) =>
    world.call(tokens.admin, 'PATCH', `/tools/${tool.id}`, { body: { description }, headers: { 'if-match': headers['etag'] ?? '' } });

  const both = await Promise.all([change('one'), change('two')]);

  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
  expect(await versionsOf(tool.id)).toHaveLength(2);
});

test('a tool that an active revision uses goes only by force, and another tenant never sees it', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const tool = await makeTool(mine.tokens.admin);
  const agent = await makeAgent(world, mine.tokens.admin, {
    revision: { model: 'builtin/extractive', instructions: 'Answer.', tools: [{ id: tool.id }] },
  });
  const remove = (token: string, query = '') => world.call(token, 'DELETE', `/tools/${tool.id}${query}`);

  expect((await remove(other.tokens.owner, '?force=true')).status).toBe(404);
  expect((await remove(mine.tokens.member)).status).toBe(403);
  const used = await remove(mine.tokens.admin);
  expect(used).toMatchObject({ status: 409, body: { context: { reason: 'in_use', used_by: [agent.id] } } });
  expect((await remove(mine.tokens.admin, '?force=true')).status).toBe(204);
  expect((await world.call(mine.tokens.admin, 'GET', `/tools/${tool.id}`)).status).toBe(404);
  expect((await makeTool(mine.tokens.admin)).id).not.toBe(tool.id);
});

test("a toolkit's tool takes what is its own and leaves the rest to its toolkit", async () => {
  const { tokens, organizationId, workspaceId } = await world.tenant();
  const tool = await makeTool(tokens.admin);
  const toolkitId = newId();
  await sweep(world.api.db, async (em) => {
    await row(
      em,
      `insert into toolkits (id, scope, organization_id, workspace_id, slug, name, kind, config, is_active, row_version, created_at, updated_at)
       values (?, 'workspace', ?, ?, 'kit', 'Kit', 'manual', '{}', true, 1, now(), now())`,
      [toolkitId, organizationId, workspaceId],
    );
    await row(em, `update tools set toolkit_id = ?, remote_name = 'things' where id = ?`, [toolkitId, tool.id]);
  });
  const change = (body: object) => world.call(tokens.admin, 'PATCH', `/tools/${tool.id}`, { body });

  expect(await change({ display_name: 'Mine', critical: true, timeout_s: 5 })).toMatchObject({ status: 200, body: { timeout_s: 5 } });
  expect(await change({ description: 'mine' })).toMatchObject({ status: 409, body: { context: { reason: 'managed_by_toolkit' } } });
  expect(await world.call(tokens.admin, 'DELETE', `/tools/${tool.id}?force=true`)).toMatchObject({
    status: 409,
    body: { context: { reason: 'managed_by_toolkit' } },
  });
});
