import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { rows as sqlRows } from '../../../db/sql.ts';
import { isTimeZone } from '../../../db/tenancy/organizations/zones.ts';
import { sweep } from '../../../db/transaction.ts';
import { rollupFaults, seedLedger, type LedgerDraft } from '../../support/ledger.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeUser } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;
const statements: string[] = [];

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world.close());

const seed = (tenant: TestTenant, drafts: readonly LedgerDraft[], workspaceId = tenant.workspaceId) =>
  seedLedger(world.api.db, { organizationId: tenant.organizationId, workspaceId }, drafts);
const usage = (token: string, query = '', headers: Record<string, string> = {}) => world.call(token, 'GET', `/usage${query}`, { headers });
const rows = async (token: string, query: string): Promise<Record<string, unknown>[]> => {
  const { status, body } = await usage(token, query);
  expect([query, status, body.code]).toEqual([query, 200, undefined]);
  return body.items;
};
const costs = (items: readonly Record<string, unknown>[], ...keys: string[]) =>
  items.map((item) => [...keys, 'cost'].map((key) => item[key]));
const january = 'from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z';

test('a time zone that is taken is one that PostgreSQL knows, also where the engine still has a name that IANA dropped', async () => {
  const tenant = await world.tenant();
  const known = await sweep(world.api.db, (em) => sqlRows<{ name: string }>(em, 'select name from pg_timezone_names'));
  const names = new Set(known.map(({ name }) => name));
  const dropped = ['US/Pacific-New', 'Canada/East-Saskatchewan'];

  const taken = [...Intl.supportedValuesOf('timeZone'), ...dropped, ...names].filter((zone) => isTimeZone(zone));

  expect(taken.length).toBeGreaterThan(400);
  expect(taken.filter((zone) => !names.has(zone))).toEqual([]);
  for (const zone of dropped)
    expect(await usage(tenant.tokens.viewer, `?timezone=${zone}`)).toMatchObject({ status: 422, body: { errors: [{ name: 'timezone' }] } });
});

test('sums are those of the ledger to the last digit, by day of the zone: 23 and 25 hours, half-hour zones, east and west', async () => {
  const tenant = await world.tenant();
  const at = [
    '2026-03-28T18:29:59.999Z',
    '2026-03-28T18:30:00Z',
    '2026-03-29T00:59:59.999Z',
    '2026-03-29T01:00:00Z',
    '2026-03-29T21:59:59.999Z',
    '2026-03-29T22:00:00Z',
    '2026-10-24T22:00:00Z',
    '2026-10-25T22:59:59.999Z',
    '2026-10-25T23:00:00Z',
  ];
  await seed(
    tenant,
    at.map((occurredAt, n) => ({ occurredAt, cost: `${2 ** n}.000000001`, inputTokens: 2 ** n })),
  );
  const inZone = (zone: string) =>
    rows(tenant.tokens.viewer, `?from=2026-01-01T00:00:00Z&to=2026-12-31T00:00:00Z&timezone=${encodeURIComponent(zone)}`);

  const [berlin, kolkata, losAngeles] = [await inZone('Europe/Berlin'), await inZone('Asia/Kolkata'), await inZone('America/Los_Angeles')];

  expect(costs(berlin, 'day')).toEqual([
    ['2026-10-26', '256.000000001'],
    ['2026-10-25', '192.000000002'],
    ['2026-03-30', '32.000000001'],
    ['2026-03-29', '28.000000003'],
    ['2026-03-28', '3.000000002'],
  ]);
  expect(costs(kolkata, 'day')).toEqual([
    ['2026-10-26', '384.000000002'],
    ['2026-10-25', '64.000000001'],
    ['2026-03-30', '48.000000002'],
    ['2026-03-29', '14.000000003'],
    ['2026-03-28', '1.000000001'],
  ]);
  expect(costs(losAngeles, 'day').map(([day]) => day)).toEqual(['2026-10-25', '2026-10-24', '2026-03-29', '2026-03-28']);
  for (const days of [berlin, kolkata, losAngeles]) expect(days.reduce((sum, day) => sum + Number(day['calls']), 0)).toBe(at.length);
  expect(await rollupFaults(world.api.db, tenant.workspaceId)).toEqual([]);
});

test('groups by one to four keys in their order; a group has the keys that were asked for; currencies are never added up', async () => {
  const tenant = await world.tenant();
  const [agent, other] = [newId(), newId()];
  const occurredAt = '2026-01-10T12:00:00Z';
  await seed(tenant, [
    { occurredAt, agentId: agent, cost: '1', model: 'a', inputTokens: 3, outputTokens: 4 },
    { occurredAt, agentId: agent, cost: '2.5', model: 'b', estimated: true },
    { occurredAt, agentId: agent, cost: '7', model: 'a', currency: 'EUR' },
    { occurredAt: '2026-01-11T00:00:00Z', agentId: other, cost: '0.1', model: 'a', userId: tenant.users.member.id },
    { occurredAt, agentId: agent, cost: '-0.25', kind: 'adjustment', model: null },
  ]);
  const { viewer } = tenant.tokens;

  expect(costs(await rows(viewer, `?${january}`), 'day', 'currency')).toEqual([
    ['2026-01-11', 'USD', '0.10'],
    ['2026-01-10', 'EUR', '7.00'],
    ['2026-01-10', 'USD', '3.25'],
  ]);
  const byModel = await rows(viewer, `?${january}&group_by=model&group_by=day&agent_id=${agent}`);
  expect(byModel).toEqual([
    expect.objectContaining({ model: 'a', day: '2026-01-10', currency: 'EUR', calls: 1, cost: '7.00', estimated_cost: '0.00' }),
    expect.objectContaining({ model: 'a', day: '2026-01-10', currency: 'USD', calls: 1, input_tokens: 3, output_tokens: 4 }),
    expect.objectContaining({ model: 'b', day: '2026-01-10', cost: '2.50', estimated_cost: '2.50' }),
    expect.objectContaining({ model: null, calls: 0, cost: '-0.25' }),
  ]);
  expect(Object.keys(byModel[0] ?? {}).filter((key) => key.endsWith('_id') || key === 'kind')).toEqual([]);
  const whole = await rows(viewer, `?${january}&group_by=workspace&group_by=kind&group_by=user&group_by=service_key`);
  expect(whole.map((group) => [group['workspace_id'], group['kind'], group['user_id'], group['service_key_id'], group['cost']])).toEqual([
    [tenant.workspaceId, 'adjustment', null, null, '-0.25'],
    [tenant.workspaceId, 'llm', tenant.users.member.id, null, '0.10'],
    [tenant.workspaceId, 'llm', null, null, '7.00'],
    [tenant.workspaceId, 'llm', null, null, '3.50'],
  ]);
  const total = await usage(viewer, `?${january}&group_by=model&group_by=day&limit=1&offset=1`);
  expect([total.body.items.length, total.body.total]).toEqual([1, 5]);
  expect((await usage(viewer, `?${january}&offset=50`)).body).toMatchObject({ items: [], total: 3 });
  for (const [filter, cost] of [
    [`user_id=${tenant.users.member.id}`, '0.10'],
    ['kind=adjustment', '-0.25'],
    ['model=b', '2.50'],
  ] as const)
    expect(costs(await rows(viewer, `?${january}&${filter}`))).toEqual([[cost]]);
});

test('without bounds: thirty days of the organization’s zone, today included; one query, of the rollups alone', async () => {
  const tenant = await world.tenant();
  const daysAgo = (days: number) => new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - days * 86_400_000).toISOString();
  await seed(tenant, [
    { cost: '1' },
    { occurredAt: daysAgo(29), cost: '2' },
    { occurredAt: new Date(Date.parse(daysAgo(29)) - 1).toISOString(), cost: '4' },
  ]);

  statements.length = 0;
  const items = await rows(tenant.tokens.viewer, '');

  expect(items.map(({ cost }) => cost)).toEqual(['1.00', '2.00']);
  const asked = statements.filter((sql) => sql.includes('usage_'));
  expect(asked).toHaveLength(1);
  expect(asked[0]).not.toContain('usage_entries');
});

test('a range that rollups can’t answer to the last digit is 422, and so is what is no range, zone or grouping', async () => {
  const { tokens } = await world.tenant();
  const wrong: [string, string][] = [
    ['?from=2026-01-01T00:07:00Z', 'from'],
    ['?to=2026-01-01T00:15:00.001Z', 'to'],
    ['?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
    ['?from=2024-11-26T23:45:00Z&to=2026-01-01T00:00:00Z', 'from'],
    ['?from=2999-01-01T00:00:00Z', 'from'],
    ['?from=yesterday', 'from'],
    ['?timezone=Mars/Olympus', 'timezone'],
    ['?timezone=%2B02:00', 'timezone'],
    ['?group_by=hour', 'group_by'],
    ['?group_by=day&group_by=day', 'group_by'],
    ['?group_by=day&group_by=agent&group_by=model&group_by=kind&group_by=user', 'group_by'],
    ['?workspace_id=nowhere', 'workspace_id'],
    ['?kind=magic', 'kind'],
    [`?model=${'x'.repeat(201)}`, 'model'],
    ['?currency=USD', 'currency'],
  ];

  for (const [query, name] of wrong) {
    const { status, body } = await usage(tokens.viewer, query);
    expect([query, status, body.errors?.map((error: { name: string }) => error.name)]).toEqual([
      query,
      422,
      expect.arrayContaining([name]),
    ]);
  }
  expect((await usage(tokens.viewer, '?from=2024-11-27T00:00:00Z&to=2026-01-01T00:00:00Z')).status).toBe(200);
  expect((await usage(tokens.viewer, '?from=2026-01-01T05:45:00%2B05:30&to=2026-01-02T00:00:00Z')).status).toBe(200);
});

test('people see what their workspaces used; other tenants’ ids match nothing; each operation has its floor', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const stranger = await world.tenant();
  const [, second = ''] = tenant.workspaceIds;
  const occurredAt = '2026-01-10T12:00:00Z';
  await seed(tenant, [{ occurredAt, cost: '1' }]);
  await seed(tenant, [{ occurredAt, cost: '2' }], second);
  await seed(stranger, [{ occurredAt, cost: '4' }]);
  const costOf = async (token: string, query = '') => costs(await rows(token, `?${january}${query}`)).map(([cost]) => cost);
  const guest = await makeUser(world.api.db, world.api.keys, {
    role: 'viewer',
    scope: 'workspace',
    organizationId: tenant.organizationId,
    workspaceId: second,
  });

  expect(await costOf(tenant.tokens.viewer)).toEqual(['1.00']);
  expect(await costOf(tenant.organizationOwner.token)).toEqual(['3.00']);
  expect(await costOf(guest.token)).toEqual(['2.00']);
  expect(await costOf(tenant.tokens.viewer, `&workspace_id=${second}`)).toEqual([]);
  expect(await costOf(tenant.organizationOwner.token, `&workspace_id=${stranger.workspaceId}`)).toEqual([]);
  const range = january;
  for (const [path, floor] of [
    ['/usage', 'viewer'],
    ['/usage/records', 'member'],
    ['/usage/export', 'admin'],
  ] as const) {
    const statuses = await Promise.all(
      (['viewer', 'member', 'admin'] as const).map(
        async (role) =>
          (await world.api.app.inject({ url: `${path}?${range}`, headers: { authorization: `Bearer ${tenant.tokens[role]}` } })).statusCode,
      ),
    );
    const allowed = { viewer: [200, 200, 200], member: [403, 200, 200], admin: [403, 403, 200] }[floor];
    expect([path, statuses]).toEqual([path, allowed]);
  }
});

test('records are listed newest first and paged without a gap; each filter leaves its own', async () => {
  const tenant = await world.tenant();
  const [agentId, runId] = [newId(), newId()];
  const ids = await seed(
    tenant,
    Array.from({ length: 7 }, (_, n) => ({
      occurredAt: `2026-01-1${Math.floor(n / 2)}T12:00:00Z`,
      cost: `0.00000000${n}`,
      ...(n === 3 ? { agentId, runId, kind: 'embedding', model: 'e', units: '1.5' } : {}),
    })),
  );
  const list = (query: string) => world.call(tenant.tokens.member, 'GET', `/usage/records${query}`);
  const seen: string[] = [];

  for (let cursor: string | null = ''; cursor !== null;) {
    const { body } = await list(`?limit=2${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
    seen.push(...body.items.map((item: { id: string }) => item.id));
    cursor = body.next_cursor;
  }

  expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => ids[n]));
  for (const filter of [`agent_id=${agentId}`, `run_id=${runId}`, 'kind=embedding', 'model=e'])
    expect((await list(`?${filter}`)).body.items).toEqual([
      expect.objectContaining({ id: ids[3], kind: 'embedding', units: '1.50', cost: '0.000000003', run_id: runId, unpriced: false }),
    ]);
  expect((await list('?from=2026-01-12T12:00:00Z&to=2026-01-13T12:00:00Z')).body.items).toHaveLength(2);
  expect((await list(`?workspace_id=${newId()}`)).body.items).toEqual([]);
  expect((await list('?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z')).status).toBe(422);
});
