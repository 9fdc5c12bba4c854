import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { finishSync, type SyncFindings } from '../../../domain/toolkits/syncs.ts';
import type { ToolkitTool } from '../../../db/toolkits/toolkit-tool.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';
import { manualTool, remote, syncRows, toolkitMaker } from './toolkit-world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const mcp = { kind: 'mcp', config: { url: 'https://mcp.example.com/mcp', auth: { type: 'bearer', secret: 'mcp_key' } } };

const inWorkspace = <T>(tenant: TestTenant, work: (tx: TenantTransaction) => Promise<T>) => syncRows(world, tenant).inWorkspace(work);
const open = (tenant: TestTenant, id: string) => syncRows(world, tenant).open(id);
const finish = (tenant: TestTenant, revisionId: string, found: SyncFindings) =>
  inWorkspace(tenant, (tx) => finishSync(tx, revisionId, found));
const findings = (tools: ToolkitTool[]): SyncFindings => ({
  tools,
  server: { name: 'far' },
  protocolVersion: '2026-07-28',
  sourceHash: null,
});

async function sync(tenant: TestTenant, id: string, tools: ToolkitTool[]) {
  const revision = await open(tenant, id);
  return { id: revision.id, number: revision.number, ...(await finish(tenant, revision.id, findings(tools))) };
}

/** An MCP toolkit with its first revision in force. */
async function mcpInForce(tools: ToolkitTool[], config: Readonly<Record<string, unknown>> = {}) {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit({ ...mcp, config: { ...mcp.config, ...config } });
  const first = await sync(tenant, id, tools);
  await kit.activate(id, first.id);
  return { tenant, kit, id, first };
}

const quarantinedOf = (id: string) =>
  sweep(world.api.db, (em) =>
    rows<{ remote_name: string }>(
      em,
      'select remote_name from tools where toolkit_id = ? and deleted_at is null and quarantined_at is not null order by 1',
      [id],
    ),
  ).then((found) => found.map((tool) => tool.remote_name));

test('a remote tool is a write until it is approved as read, whatever it says of itself', async () => {
  const { kit, id, first } = await mcpInForce([remote('Get Weather'), remote('b')]);

  const [b, weather] = await kit.tools(id);
  const second = await kit.activate(id, first.id);

  expect(weather).toMatchObject({
    slug: 'kit__get_weather',
    kind: 'remote_protocol',
    effect: 'write',
    concurrency: 'write',
    critical: false,
    config: { toolkit_id: id, remote_name: 'Get Weather' },
    secrets_required: ['mcp_key'],
  });
  expect(b.slug).toBe('kit__b');
  expect(second).toMatchObject({ status: 409, body: { context: { reason: 'revision_not_activatable', state: 'active' } } });
});

test.each([
  ['description', { description: 'Now it does something else' }],
  ['input schema', { input_schema: { type: 'object', properties: { to: { type: 'string' } } } }],
  ['output schema', { output_schema: { type: 'object' } }],
  ['title', { title: 'Another' }],
  ['annotation', { annotations: { readOnlyHint: true, destructiveHint: true } }],
])('a changed %s blocks the tool until an activation, and a rollback restores the former one', async (_name, change) => {
  const { tenant, kit, id, first } = await mcpInForce([remote('a'), remote('b')]);
  const changed = remote('a', change);

  const second = await sync(tenant, id, [changed, remote('b')]);
  const blocked = await quarantinedOf(id);
  const viewed = (await kit.get(`/toolkits/${id}/revisions`)).body.items[0];
  await kit.activate(id, second.id);
  const approved = await kit.tools(id);
  await kit.activate(id, first.id);
  const restored = await kit.tools(id);

  expect(second).toMatchObject({ state: 'inactive', quarantined: ['a'] });
  expect(blocked).toEqual(['a']);
  expect(viewed).toMatchObject({
    number: 2,
    state: 'inactive',
    quarantined: ['a'],
    diff: [
      { name: 'a', change: 'changed' },
      { name: 'b', change: 'unchanged' },
    ],
  });
  expect(viewed).not.toHaveProperty('tools');
  expect(await quarantinedOf(id)).toEqual([]);
  expect(approved[0]).toMatchObject({ description: changed.description, input_schema: changed.input_schema });
  expect(restored[0]).toMatchObject({ description: 'Does a', input_schema: { type: 'object' } });
  expect(restored.map((tool) => tool.id)).toEqual(approved.map((tool) => tool.id));
});

test('a tool that is gone is quarantined, an added one stays invisible, and equal ones change nothing', async () => {
  const { tenant, kit, id } = await mcpInForce([remote('a'), remote('b')]);

  const equal = await sync(tenant, id, [remote('b'), remote('a')]);
  const other = await sync(tenant, id, [remote('b'), remote('c')]);
  const before = await kit.tools(id);
  const activated = await kit.activate(id, other.id);
  const after = await kit.tools(id);

  expect(equal).toMatchObject({ state: 'unchanged', quarantined: [] });
  expect((await kit.activate(id, equal.id)).status).toBe(409);
  expect(other).toMatchObject({ state: 'inactive', quarantined: ['a'] });
  expect(before.map((tool) => tool.slug)).toEqual(['kit__a', 'kit__b']);
  expect(activated.body).toMatchObject({ tool_count: 2, quarantined_count: 0 });
  expect(after.map((tool) => tool.slug)).toEqual(['kit__b', 'kit__c']);
});

test('on_change keep serves on', async () => {
  const { tenant, id } = await mcpInForce([remote('a')], { on_change: 'keep' });

  const second = await sync(tenant, id, [remote('a', { description: 'Other' })]);

  expect(second).toMatchObject({ state: 'inactive', quarantined: [] });
  expect(await quarantinedOf(id)).toEqual([]);
});

test('what is back as it was approved waits for an approval all the same', async () => {
  const { tenant, kit, id } = await mcpInForce([remote('a')]);
  await sync(tenant, id, [remote('a', { description: 'Other' })]);

  const back = await sync(tenant, id, [remote('a')]);
  const still = await quarantinedOf(id);
  await kit.activate(id, back.id);

  expect(back.state).toBe('inactive');
  expect(still).toEqual(['a']);
  expect(await quarantinedOf(id)).toEqual([]);
});

test('only what is approved changes; names that the revision does not hold are refused', async () => {
  const { tenant, kit, id } = await mcpInForce([remote('a'), remote('b')]);
  const second = await sync(tenant, id, [remote('a', { description: 'New a' }), remote('b', { description: 'New b' }), remote('c')]);

  const unknown = await kit.activate(id, second.id, { approve: ['a', 'x'] });
  const beside = await kit.activate(id, second.id, { approve: ['a'], overrides: { b: { effect: 'read' } } });
  const partial = await kit.activate(id, second.id, { approve: ['a'], overrides: { a: { effect: 'read', idempotent: true } } });
  const tools = await kit.tools(id);

  expect(unknown).toMatchObject({ status: 422, body: { errors: [{ pointer: '/approve/1', rule: 'reference' }] } });
  expect(beside).toMatchObject({ status: 422, body: { errors: [{ pointer: '/overrides/b', rule: 'reference' }] } });
  expect(partial.body).toMatchObject({ tool_count: 2, quarantined_count: 1 });
  expect(tools.map(({ slug, description, effect }) => [slug, description, effect])).toEqual([
    ['kit__a', 'New a', 'read'],
    ['kit__b', 'Does b', 'write'],
  ]);
  expect(await quarantinedOf(id)).toEqual(['b']);
});

test('settings that were approved outlive a new text, but not a tool that no longer claims them', async () => {
  const { tenant, kit, id } = await mcpInForce([remote('a'), remote('b')]);
  const admin = (name: string, body: unknown) => world.call(tenant.tokens.admin, 'PATCH', `/tools/${name}`, { body });
  for (const tool of await kit.tools(id)) await admin(tool.id, { effect: 'read', critical: true, timeout_s: 7 });
  const writes = { annotations: {}, proposed: { effect: 'write', concurrency: 'write', idempotent: false } as const };

  const second = await sync(tenant, id, [remote('a', { description: 'New' }), remote('b', writes)]);
  await kit.activate(id, second.id);

  expect(await kit.tools(id)).toMatchObject([
    { slug: 'kit__a', effect: 'read', critical: true, timeout_s: 7 },
    { slug: 'kit__b', effect: 'write', concurrency: 'write', critical: true },
  ]);
});

test('each activation writes a version of every tool in force, which names the revision', async () => {
  const { tenant, kit, id, first } = await mcpInForce([remote('a'), remote('b')]);
  const second = await sync(tenant, id, [remote('a', { description: 'New' }), remote('b')]);
  await kit.activate(id, second.id, { approve: ['a'] });

  const versions = await sweep(world.api.db, (em) =>
    rows<{ version: number; revision: string; name: string; description: string }>(
      em,
      `select v.version, v.toolkit_revision_id as revision, t.remote_name as name, v.descriptor ->> 'description' as description
         from tool_versions v join tools t on t.id = v.tool_id where t.toolkit_id = ? order by 1, 3`,
      [id],
    ),
  );

  expect(versions).toEqual([
    { version: 1, revision: first.id, name: 'a', description: 'Does a' },
    { version: 1, revision: first.id, name: 'b', description: 'Does b' },
    { version: 2, revision: second.id, name: 'a', description: 'New' },
    { version: 2, revision: second.id, name: 'b', description: 'Does b' },
  ]);
});

test('one sync at a time; a failed one says why, and an ended one ends once', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit(mcp);

  const opened = await Promise.allSettled([open(tenant, id), open(tenant, id), open(tenant, id)]);
  const won = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const lost = opened.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  const failed = await finish(tenant, won[0]?.id ?? '', { error: 'The server did not answer.' });
  const again = await finish(tenant, won[0]?.id ?? '', findings([remote('a')]));
  const next = await open(tenant, id);

  expect(won).toHaveLength(1);
  expect(lost).toHaveLength(2);
  for (const error of lost) expect(error).toMatchObject({ code: 'state_conflict', context: { reason: 'sync_running' } });
  expect([failed.state, again.state]).toEqual(['failed', 'failed']);
  expect(next.number).toBe(2);
  expect((await kit.get(`/toolkits/${id}/revisions`)).body.items[1]).toMatchObject({
    state: 'failed',
    error: 'The server did not answer.',
  });
});

test('a sync that nobody will end blocks no other for long', async () => {
  const tenant = await world.tenant();
  const { id } = await toolkitMaker(world, tenant).toolkit(mcp);
  const lost = await open(tenant, id);
  await sweep(world.api.db, (em) =>
    rows(em, "update toolkit_revisions set created_at = now() - interval '31 minutes' where id = ?", [lost.id]),
  );

  const next = await open(tenant, id);
  const late = await finish(tenant, lost.id, findings([remote('a')]));

  expect(next.number).toBe(2);
  expect(late.state).toBe('failed');
});

test('activations of two revisions at once leave one active, and the tools are those of it', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit();
  const revisions = [
    await kit.revision(id, [manualTool('a'), manualTool('b')]),
    await kit.revision(id, [manualTool('b'), manualTool('c')]),
  ];

  const answers = await Promise.all(revisions.map((revision) => kit.activate(id, revision.id)));
  const toolkit = (await kit.get(`/toolkits/${id}`)).body;
  const states = (await kit.get(`/toolkits/${id}/revisions`)).body.items.map((one: { state: string }) => one.state);
  const active = revisions.find((revision) => revision.id === toolkit.active_revision_id);

  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(states.toSorted()).toEqual(['active', 'superseded']);
  expect((await kit.tools(id)).map((tool) => tool.slug)).toEqual(active.tools.map((tool: { name: string }) => `kit__${tool.name}`));
});

test("a toolkit's tool takes no change of what its revision says", async () => {
  const { tenant, kit, id } = await mcpInForce([remote('a')]);
  const [tool] = await kit.tools(id);
  const patch = (body: unknown) => world.call(tenant.tokens.admin, 'PATCH', `/tools/${tool.id}`, { body });

  const own = await patch({ description: 'Mine' });
  const allowed = await patch({ display_name: 'A', effect: 'read' });

  expect(own).toMatchObject({ status: 409, body: { context: { reason: 'managed_by_toolkit' } } });
  expect(allowed).toMatchObject({ status: 200, body: { display_name: 'A', effect: 'read' } });
});

test('names that no model takes become slugs, each its own', async () => {
  const long = 'x'.repeat(120);
  const { kit, id } = await mcpInForce([remote('A.b'), remote('a.b'), remote('a_b'), remote(long), remote(`${long}y`)]);

  const slugs = (await kit.tools(id)).map((tool) => tool.slug);

  expect(new Set(slugs).size).toBe(5);
  for (const slug of slugs) expect(slug).toMatch(/^kit__[a-z0-9_-]{1,59}$/);
});

test('activating 200 tools takes a bounded number of statements', async () => {
  let count = 0;
  const counted = await openWorld({ onQuery: () => count++ });
  try {
    const kit = toolkitMaker(counted, await counted.tenant());
    const { id } = await kit.toolkit();
    const { id: revisionId } = await kit.revision(
      id,
      Array.from({ length: 200 }, (_, n) => manualTool(`t${n}`)),
    );
    count = 0;

    const activated = await kit.activate(id, revisionId);

    expect(activated.body).toMatchObject({ tool_count: 200 });
    expect(count).toBeLessThan(40);
  } finally {
    await counted.close();
  }
});
