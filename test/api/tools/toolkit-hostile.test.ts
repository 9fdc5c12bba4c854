import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { finishSync } from '../../../domain/toolkits/syncs.ts';
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

const mcp = { kind: 'mcp', config: { url: 'https://mcp.example.com/mcp' } };

const inWorkspace = <T>(tenant: TestTenant, work: (tx: TenantTransaction) => Promise<T>) => syncRows(world, tenant).inWorkspace(work);
const open = (tenant: TestTenant, id: string) => syncRows(world, tenant).open(id);
const finish = (tenant: TestTenant, revisionId: string, tools: ToolkitTool[]) =>
  inWorkspace(tenant, (tx) => finishSync(tx, revisionId, { tools, server: null, protocolVersion: '2026-07-28', sourceHash: null }));

async function sync(tenant: TestTenant, id: string, tools: ToolkitTool[]) {
  const revision = await open(tenant, id);
  return { ...revision, ...(await finish(tenant, revision.id, tools)) };
}

async function mcpKit() {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit(mcp);
  return { tenant, kit, id, patch: (path: string, body: unknown) => world.call(tenant.tokens.admin, 'PATCH', path, { body }) };
}

test('a rollback gives a tool back as it was approved then, what was said of it by hand included', async () => {
  const { tenant, kit, id, patch } = await mcpKit();
  const first = await sync(tenant, id, [remote('a')]);
  await kit.activate(id, first.id, { approve: 'all', overrides: { a: { effect: 'read', idempotent: true, timeout_s: 7 } } });
  const [tool] = await kit.tools(id);
  await patch(`/tools/${tool.id}`, { response_max_chars: 500 });
  const before = (await kit.tools(id))[0];
  const writes = { annotations: {}, proposed: { effect: 'write', concurrency: 'write', idempotent: false } as const };
  const second = await sync(tenant, id, [remote('a', writes)]);
  await kit.activate(id, second.id, { approve: 'all', overrides: { a: { timeout_s: 90, critical: true } } });

  await kit.activate(id, first.id);

  const [restored] = await kit.tools(id);
  // What an admin made critical meanwhile stays so.
  expect({ ...restored, updated_at: null }).toEqual({ ...before, critical: true, updated_at: null });
});

test('a sync that was begun with another address or credential ends without effect', async () => {
  const { tenant, kit, id, patch } = await mcpKit();
  const { id: revisionId } = await open(tenant, id);

  await patch(`/toolkits/${id}`, { config: { url: 'https://other.example.com/mcp' } });
  const ended = await finish(tenant, revisionId, [remote('a')]);
  const next = await open(tenant, id);

  expect(ended.state).toBe('failed');
  expect(next.number).toBe(2);
  expect((await kit.get(`/toolkits/${id}/revisions`)).body.items[1]).toMatchObject({
    state: 'failed',
    error: 'The address or the credentials of the toolkit changed during the sync.',
  });
});

test('texts that are cut stay whole characters', async () => {
  const { tenant, kit, id } = await mcpKit();
  const text = (length: number) => `${'x'.repeat(length - 1)}😀 and more`;

  const first = await sync(tenant, id, [remote('a', { description: text(4_096), title: text(190).slice(0, 200) })]);
  const activated = await kit.activate(id, first.id);

  expect(activated.status).toBe(200);
  expect((await kit.tools(id))[0].description).toBe('x'.repeat(4_095));
});

test('a slug that a tool made by hand has is 409, at once and at a rollback, and changes nothing', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit();
  const first = await kit.revision(id, [manualTool('a')]);
  const second = await kit.revision(id, [manualTool('b')]);
  const byHand = (slug: string) =>
    kit.post('/tools', { slug, kind: 'http', description: 'x', config: { method: 'GET', url: 'https://a.example/' } });

  await byHand('kit__a');
  const clash = await kit.activate(id, first.id);
  await kit.activate(id, second.id);
  const third = await kit.revision(id, [manualTool('c')]);
  await kit.activate(id, third.id);
  await byHand('kit__b');
  const back = await kit.activate(id, second.id);

  expect([clash, back]).toMatchObject([
    { status: 409, body: { context: { field: 'slug' } } },
    { status: 409, body: { context: { field: 'slug' } } },
  ]);
  expect((await kit.get(`/toolkits/${id}`)).body.active_revision_id).toBe(third.id);
});

test.each([
  ['slug', 'mine', 422],
  ['description', 'Mine', 409],
  ['input_schema', { type: 'object' }, 409],
  ['config', { toolkit_id: newId(), remote_name: 'x' }, 409],
  ['secrets_required', [], 409],
  ['client_owned', true, 409],
  ['toolkit_id', null, 422],
  ['kind', 'http', 422],
])("a toolkit's tool takes no %s", async (field, value, status) => {
  const { tenant, kit, id, patch } = await mcpKit();
  await kit.activate(id, (await sync(tenant, id, [remote('a')])).id);
  const [tool] = await kit.tools(id);

  expect((await patch(`/tools/${tool.id}`, { [field]: value })).status).toBe(status);
  expect((await kit.tools(id))[0]).toEqual(tool);
});

test('an activation and a sync that finds the tool changed, at once: the tool is in force as approved or blocked', async () => {
  const { tenant, kit, id } = await mcpKit();
  await kit.activate(id, (await sync(tenant, id, [remote('a')])).id);
  const second = await sync(tenant, id, [remote('a', { description: 'Second' })]);
  const { id: third } = await open(tenant, id);

  const [activated, ended] = await Promise.all([
    kit.activate(id, second.id),
    finish(tenant, third, [remote('a', { description: 'Third' })]),
  ]);

  expect([activated.status, ended.state]).toEqual([200, 'inactive']);
  const quarantined = (await kit.get(`/toolkits/${id}`)).body.quarantined_count;
  expect([0, 1]).toContain(quarantined);
  expect((await kit.tools(id))[0].description).toBe('Second');
});
