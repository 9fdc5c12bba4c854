import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { resolveSecret } from '../../../domain/secrets/resolve-secret.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { newId } from '../../../db/ids.ts';
import { rows } from '../../../db/sql.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

async function makeTool({ tokens }: TestTenant) {
  const config = { method: 'GET', url: 'https://api.example.com/', auth: { type: 'bearer', secret: 'weather_key' } };
  const body = { slug: 'weather', kind: 'http', description: 'x', config, secrets_required: ['other_key'] };
  return (await world.call(tokens.admin, 'POST', '/tools', { body })).body;
}

async function valueOf({ organizationId, workspaceId }: TestTenant, toolId: string, name: string) {
  const options = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };
  const naming = { scope: 'workspace', toolId, organizationId, workspaceId } as const;
  return (await transact(world.api.db, options, (tx) => resolveSecret(tx, world.api.keys, { name, row: naming }))).value;
}

test("a tool's own value comes before its workspace's, and goes again", async () => {
  const tenant = await world.tenant();
  const tool = await makeTool(tenant);
  const path = `/tools/${tool.id}/secrets`;
  await world.call(tenant.tokens.admin, 'PUT', '/secrets/weather_key', { body: { value: 'of-the-workspace', scope: 'workspace' } });

  const set = await world.call(tenant.tokens.admin, 'PUT', path, { body: { values: { weather_key: 'first-value' } } });
  await world.call(tenant.tokens.admin, 'PUT', path, { body: { values: { weather_key: 'of-the-tool' } } });
  expect(set).toMatchObject({ status: 200, body: { id: tool.id, secrets_required: ['other_key', 'weather_key'] } });
  expect(JSON.stringify(set.body)).not.toContain('first-value');
  expect(await valueOf(tenant, tool.id, 'weather_key')).toBe('of-the-tool');

  expect((await world.call(tenant.tokens.admin, 'DELETE', `${path}/weather_key`)).status).toBe(204);
  expect(await valueOf(tenant, tool.id, 'weather_key')).toBe('of-the-workspace');
  expect((await world.call(tenant.tokens.admin, 'DELETE', `${path}/weather_key`)).status).toBe(404);
});

test('a value was made when it was set first, by the clock of the database', async () => {
  const tenant = await world.tenant();
  const tool = await makeTool(tenant);
  const put = (value: string) =>
    world.call(tenant.tokens.admin, 'PUT', `/tools/${tool.id}/secrets`, { body: { values: { weather_key: value } } });
  const times = () =>
    sweep(world.api.db, (em) =>
      rows<{ created_at: string; updated_at: string }>(em, 'select created_at, updated_at from secrets where tool_id = ?', [tool.id]),
    );

  await put('first-value');
  const [first] = await times();
  await put('next-value');
  const [next] = await times();

  expect(first?.updated_at).toBe(first?.created_at);
  expect(next?.created_at).toBe(first?.created_at);
  expect(Date.parse(next?.updated_at ?? '')).toBeGreaterThan(Date.parse(first?.updated_at ?? ''));
});

test('only names that the tool requires are set, by admins of its place alone', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const tool = await makeTool(mine);
  const put = (token: string, values: object) => world.call(token, 'PUT', `/tools/${tool.id}/secrets`, { body: { values } });

  expect(await put(mine.tokens.admin, { unknown: 'x', weather_key: 'y' })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/values/unknown', rule: 'unknown_field' }] },
  });
  expect(await valueOf(mine, tool.id, 'weather_key')).toBe(null);
  expect((await put(mine.tokens.admin, {})).status).toBe(422);
  expect((await put(mine.tokens.admin, { weather_key: '' })).status).toBe(422);
  expect((await put(mine.tokens.member, { weather_key: 'y' })).status).toBe(403);
  expect((await put(other.tokens.owner, { weather_key: 'y' })).status).toBe(404);
});

test('a deleted tool takes its values along, and no audit entry holds one', async () => {
  const tenant = await world.tenant();
  const tool = await makeTool(tenant);
  await world.call(tenant.tokens.admin, 'PUT', `/tools/${tool.id}/secrets`, { body: { values: { weather_key: 'sensitive-value' } } });

  await world.call(tenant.tokens.admin, 'DELETE', `/tools/${tool.id}`);

  const left = await sweep(world.api.db, (em) => rows(em, 'select id from secrets where tool_id = ?', [tool.id]));
  const entries = await sweep(world.api.db, (em) =>
    rows<{ changes: unknown }>(em, 'select changes from audit_entries where resource_id = ?', [tool.id]),
  );
  expect(left).toEqual([]);
  expect(entries).toHaveLength(3);
  expect(JSON.stringify(entries)).not.toContain('sensitive-value');
});
