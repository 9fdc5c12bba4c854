import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { makeCall, settleCall } from '../../support/calls.ts';
import { seedLedger } from '../../support/ledger.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { isOfRequest } from '../../support/statements.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sweep(world.api.db, (em) => rows<T>(em, text, params));
const pathOf = ({ workspaceId }: TestTenant) => `/budgets/${workspaceId}`;
const put = (tenant: TestTenant, body: object, headers: Record<string, string> = {}) =>
  world.call(tenant.tokens.admin, 'PUT', pathOf(tenant), { body, headers });
const status = async (tenant: TestTenant, period = 'month') =>
  (await world.call(tenant.tokens.viewer, 'GET', `${pathOf(tenant)}/status?period=${period}`)).body;

test('a budget that is made by defaults counts and refuses nothing, and reads as it was written', async () => {
  const tenant = await world.tenant();

  const made = await put(tenant, {});

  const month = `${new Date().toISOString().slice(0, 8)}01`;
  const view = {
    workspace_id: tenant.workspaceId,
    period: 'month',
    limit_amount: null,
    currency: 'USD',
    is_enforced: false,
    alert_threshold_pct: 80,
    period_start: month,
  };
  expect(made).toMatchObject({ status: 200, body: view, headers: { etag: '"1"' } });
  expect(await world.call(tenant.tokens.viewer, 'GET', pathOf(tenant))).toMatchObject({
    status: 200,
    body: view,
    headers: { etag: '"1"' },
  });
  expect((await world.call(tenant.tokens.viewer, 'GET', '/budgets')).body.items).toEqual([view]);
  expect((await world.call(tenant.tokens.viewer, 'GET', `${pathOf(tenant)}?period=day`)).status).toBe(404);
});

test('a PUT replaces all fields but the anchor; the same again changes nothing', async () => {
  const tenant = await world.tenant();
  await put(tenant, { limit_amount: '10.5000', is_enforced: true, alert_threshold_pct: 50, period_start: '2026-01-31' });

  const replaced = await put(tenant, { limit_amount: 7 });
  const again = await put(tenant, { limit_amount: '7.00', period_start: null });

  expect(replaced).toMatchObject({
    headers: { etag: '"2"' },
    body: { limit_amount: '7.00', is_enforced: false, alert_threshold_pct: 80, period_start: '2026-01-31' },
  });
  expect(again).toMatchObject({ status: 200, headers: { etag: '"2"' } });
});

test('a PUT whose body was lost leaves the ceiling as it is', async () => {
  const tenant = await world.tenant();
  await put(tenant, { limit_amount: '5', is_enforced: true });

  const empty = await world.call(tenant.tokens.admin, 'PUT', pathOf(tenant));

  expect(empty).toMatchObject({ status: 422, body: { errors: [{ pointer: '', rule: 'required' }] } });
  expect(await status(tenant)).toMatchObject({ limit_amount: '5.00', is_enforced: true, budget_version: 1 });
});

test('If-Match guards a budget: a stale one is 412, one of a budget that is not there 404, and nothing changes', async () => {
  const tenant = await world.tenant();

  const missing = await put(tenant, {}, { 'if-match': '*' });
  await put(tenant, { limit_amount: '1' });
  const stale = await put(tenant, { limit_amount: '2' }, { 'if-match': '"7"' });
  const current = await put(tenant, { limit_amount: '3' }, { 'if-match': '"1"' });

  expect([missing.status, stale.status, current.status]).toEqual([404, 412, 200]);
  expect(await status(tenant)).toMatchObject({ limit_amount: '3.00', budget_version: 2 });
});

test.each([
  [{ limit_amount: -1 }, '/limit_amount'],
  [{ limit_amount: '-1' }, '/limit_amount'],
  [{ limit_amount: '1e3' }, '/limit_amount'],
  [{ limit_amount: '1.0000000001' }, '/limit_amount'],
  [{ limit_amount: '1.0000000000' }, '/limit_amount'],
  [{ limit_amount: 0.1234567890123456 }, '/limit_amount'],
  [{ limit_amount: '100000000000' }, '/limit_amount'],
  [{ limit_amount: 1e11 }, '/limit_amount'],
  [{ limit_amount: '' }, '/limit_amount'],
  [{ limit_amount: true }, '/limit_amount'],
  [{ limit_amount: '9'.repeat(41) }, '/limit_amount'],
  [{ currency: 'usd' }, '/currency'],
  [{ currency: 'XYZ' }, '/currency'],
  [{ period: 'year' }, '/period'],
  [{ is_enforced: 'yes' }, '/is_enforced'],
  [{ alert_threshold_pct: 0 }, '/alert_threshold_pct'],
  [{ alert_threshold_pct: 101 }, '/alert_threshold_pct'],
  [{ period_start: '2026-02-30' }, '/period_start'],
  [{ limit: '1' }, '/limit'],
])('%j is refused with its place, and nothing is stored', async (body, pointer) => {
  const tenant = await world.tenant();

  const refused = await put(tenant, body);

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
  expect(await sql('select id from budgets where workspace_id = ?', [tenant.workspaceId])).toEqual([]);
});

test('a currency that no rate leads to is refused when the budget is written, not later', async () => {
  const tenant = await world.tenant();

  const refused = await put(tenant, { currency: 'NOK', limit_amount: '100' });

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/currency', rule: 'currency_unsupported' }] } });
  expect(await sql('select id from budget_windows where workspace_id = ?', [tenant.workspaceId])).toEqual([]);
});

test('a budget that is not there says which period was asked for, and how the other is read', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day', limit_amount: '5' });

  for (const path of [pathOf(tenant), `${pathOf(tenant)}/status`])
    expect(await world.call(tenant.tokens.viewer, 'GET', path)).toMatchObject({
      status: 404,
      body: { code: 'not_found', detail: 'There is no budget for the month; read the one for the day with period=day.' },
    });
});

test('budgets of other tenants are absent, a viewer reads and does not write, an archived workspace takes none', async () => {
  const tenant = await world.tenant();
  const stranger = await world.tenant();
  await put(tenant, { limit_amount: '5' });
  const path = pathOf(tenant);

  const foreign = [
    await world.call(stranger.tokens.admin, 'GET', path),
    await world.call(stranger.tokens.admin, 'PUT', path, { body: {} }),
    await world.call(stranger.tokens.admin, 'DELETE', path),
    await world.call(stranger.tokens.admin, 'GET', `${path}/status`),
    await world.call(stranger.tokens.admin, 'PUT', `/budgets/${newId()}`, { body: {} }),
  ];
  const low = [
    await world.call(tenant.tokens.member, 'PUT', path, { body: {} }),
    await world.call(tenant.tokens.member, 'DELETE', path),
    await world.call(tenant.tokens.viewer, 'GET', path),
  ];
  await sql('update workspaces set is_active = false where id = ?', [tenant.workspaceId]);
  const frozen = await put(tenant, { limit_amount: '6' });

  expect(foreign.map((answer) => answer.status)).toEqual([404, 404, 404, 404, 404]);
  expect(low.map((answer) => answer.status)).toEqual([403, 403, 200]);
  expect((await world.call(stranger.tokens.admin, 'GET', '/budgets')).body.items).toEqual([]);
  expect(frozen).toMatchObject({ status: 423, body: { context: { reason: 'workspace_archived' } } });
});

test('many PUTs at once make one budget with one window, and each is whole', async () => {
  const tenant = await world.tenant();

  const all = await Promise.all(
    Array.from({ length: 8 }, (_, n) => put(tenant, { limit_amount: String(n + 1), alert_threshold_pct: n + 1 })),
  );

  expect(all.map((answer) => answer.status)).toEqual(Array.from({ length: 8 }, () => 200));
  const [kept] = await sql<{ limit: number; pct: number; windows: number; rules: number }>(
    `select g.limit_amount::int as limit, g.alert_threshold_pct as pct,
            (select count(*)::int from budget_windows w where w.budget_id = g.id and w.limit_amount = g.limit_amount and w.budget_version = g.version) as windows,
            (select count(*)::int from alert_rules r where r.budget_id = g.id and r.warning_threshold = g.alert_threshold_pct) as rules
       from budgets g where g.workspace_id = ?`,
    [tenant.workspaceId],
  );
  expect(kept).toMatchObject({ windows: 1, rules: 1 });
  expect(kept?.limit).toBe(kept?.pct);
});

test('the status adds up: what is spent, what calls hold, what is left, and what a call would find', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day', limit_amount: '3', is_enforced: true, alert_threshold_pct: 50 });
  const fresh = await status(tenant, 'day');
  await makeCall(world.api.db, tenant, { cost: '1.5' });
  const warned = await status(tenant, 'day');
  await sql('update budget_windows set reserved = 1.5 where workspace_id = ?', [tenant.workspaceId]);
  const held = await status(tenant, 'day');
  await makeCall(world.api.db, tenant, { cost: '4', estimate: '0' });
  const blocked = await status(tenant, 'day');

  expect(fresh).toMatchObject({
    spent: '0.00',
    reserved: '0.00',
    remaining: '3.00',
    used_pct: '0.0',
    decision: 'allow',
    level: 'ok',
    timezone: 'UTC',
  });
  expect(fresh).toMatchObject({
    fx_rate: null,
    fx_as_of: null,
    budget_version: 1,
    limit_amount: '3.00',
    currency: 'USD',
    is_enforced: true,
  });
  expect(new Date(fresh.window_end).getTime() - new Date(fresh.window_start).getTime()).toBe(86_400_000);
  expect(warned).toMatchObject({ spent: '1.50', remaining: '1.50', used_pct: '50.0', decision: 'allow', level: 'warning' });
  expect(held).toMatchObject({ reserved: '1.50', remaining: '0.00', decision: 'held', level: 'warning' });
  expect(blocked).toMatchObject({ spent: '5.50', remaining: '0.00', used_pct: '183.3', decision: 'blocked', level: 'exceeded' });
});

test('"0", null, no budget and one that is not enforced are four different things', async () => {
  const places = [await world.tenant(), await world.tenant(), await world.tenant(), await world.tenant()] as const;
  const [zero, open, none, counted] = places;
  await put(zero, { limit_amount: '0', is_enforced: true });
  await put(open, { limit_amount: null, is_enforced: true });
  await put(counted, { limit_amount: '1' });

  const calls = [];
  for (const place of places) calls.push((await makeCall(world.api.db, place, { cost: '2' })).outcome);

  const starts = [];
  for (const { tokens } of places) {
    const { id } = await makeAgent(world, tokens.admin);
    starts.push((await world.call(tokens.member, 'POST', '/runs', { body: { agent_id: id, input: { text: 'Hi.' } } })).status);
  }

  expect(calls).toEqual(['full', 'ok', 'ok', 'ok']);
  expect(starts).toEqual([402, 202, 202, 202]);
  expect(await status(zero)).toMatchObject({ decision: 'blocked', level: 'exceeded', spent: '0.00', remaining: '0.00', used_pct: '100.0' });
  expect(await status(open)).toMatchObject({ decision: 'allow', level: 'ok', spent: '2.00', remaining: null, used_pct: null });
  expect((await world.call(none.tokens.viewer, 'GET', `${pathOf(none)}/status`)).status).toBe(404);
  expect(await status(counted)).toMatchObject({
    decision: 'allow',
    level: 'exceeded',
    spent: '2.00',
    remaining: '0.00',
    used_pct: '200.0',
  });
});

test('a new budget counts what its period has cost before it was made', async () => {
  const tenant = await world.tenant();
  await settleCall(world.api.db, tenant, { cost: '1.25' });
  await settleCall(world.api.db, tenant, { cost: '8', reservedAt: new Date(Date.now() - 40 * 86_400_000) });

  await put(tenant, { limit_amount: '10', period_start: '2026-01-01' });

  expect(await status(tenant)).toMatchObject({ spent: '1.25', remaining: '8.75' });
});

test('a window holds more than any single cost or limit', async () => {
  const tenant = await world.tenant();
  for (let times = 0; times < 2; times += 1) await settleCall(world.api.db, tenant, { cost: '99999999999' });

  const made = await put(tenant, { limit_amount: '99999999999' });
  await settleCall(world.api.db, tenant, { cost: '99999999999' });

  expect([made.status, await status(tenant)]).toMatchObject([200, { spent: '299999999997.00', used_pct: '300.0', level: 'exceeded' }]);
});

test('another period_start cuts the open window anew, with what the ledger says of it; what calls hold stays', async () => {
  const tenant = await world.tenant();
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000);
  const dateOf = (at: Date) => at.toISOString().slice(0, 10);
  await put(tenant, { limit_amount: '10', period_start: dateOf(day(20)) });
  for (const [ago, cost] of [
    [15, '4'],
    [3, '2'],
    [0, '1'],
  ] as const)
    await settleCall(world.api.db, tenant, { cost, reservedAt: day(ago) });
  await sql('update budget_windows set reserved = 0.5 where workspace_id = ?', [tenant.workspaceId]);
  const before = await status(tenant);

  await put(tenant, { limit_amount: '10', period_start: dateOf(day(5)) });
  const later = await status(tenant);
  await put(tenant, { limit_amount: '10', period_start: dateOf(day(20)) });

  expect(before).toMatchObject({ spent: '7.00', reserved: '0.50', window_start: `${dateOf(day(20))}T00:00:00.000Z` });
  expect(later).toMatchObject({
    spent: '3.00',
    reserved: '0.50',
    remaining: '6.50',
    window_start: `${dateOf(day(5))}T00:00:00.000Z`,
    budget_version: 2,
  });
  expect(await status(tenant)).toMatchObject({ spent: '7.00', reserved: '0.50' });
  expect(await sql('select id from budget_windows where workspace_id = ?', [tenant.workspaceId])).toHaveLength(1);
});

test('another currency counts the window anew at the rate in force, and keeps that rate', async () => {
  const tenant = await world.tenant();
  const rate = (value: string) =>
    sql(`insert into fx_rates (id, base, quote, rate, effective_from, source) values (?, 'USD', 'SEK', ?, clock_timestamp(), 'test')`, [
      newId(),
      value,
    ]);
  await rate('9.500000000001');
  await put(tenant, { limit_amount: '10' });
  await settleCall(world.api.db, tenant, { cost: '0.333333333' });

  await put(tenant, { limit_amount: '100', currency: 'SEK' });
  await rate('11');
  await put(tenant, { limit_amount: '90', currency: 'SEK' });
  await makeCall(world.api.db, tenant, { cost: '1' });

  expect(await status(tenant)).toMatchObject({
    currency: 'SEK',
    spent: '12.666666664',
    remaining: '77.333333336',
    fx_rate: '9.500000000001',
    used_pct: '14.1',
  });
  expect((await status(tenant)).fx_as_of).toMatch(/Z$/);
});

test('a budget in a currency of small units has room for all that is spent, and so has its alert', async () => {
  const tenant = await world.tenant();
  await sql(
    `insert into fx_rates (id, base, quote, rate, effective_from, source) values (?, 'USD', 'LBP', 89500, clock_timestamp(), 'test')`,
    [newId()],
  );
  await put(tenant, { currency: 'LBP', limit_amount: '0.000000001' });

  for (const cost of ['600000', '600000']) await makeCall(world.api.db, tenant, { cost });

  expect(await status(tenant)).toMatchObject({ spent: '107400000000.00', used_pct: '10740000000000000000000.0', level: 'exceeded' });
  const alerts = await world.call(tenant.tokens.viewer, 'GET', '/alerts?status=firing');
  await put(tenant, { currency: 'LBP', limit_amount: '0.000000001', is_enforced: true });
  const anew = await world.call(tenant.tokens.viewer, 'GET', '/alerts?status=firing');
  expect([alerts.body.items[0].severity, anew.body.items[0].value]).toEqual(['critical', '10740000000000000000000.00']);
});

test('after a change of BILLING_CURRENCY a budget that is written anew counts what is priced in the new one, and nothing else', async () => {
  const tenant = await world.tenant();
  await seedLedger(world.api.db, tenant, [{ cost: '3', currency: 'EUR' }]);
  await put(tenant, { limit_amount: '10' });
  await sql("update budget_windows set base_currency = 'EUR', fx_rate = 1.25, fx_as_of = now(), spent = 3.75 where workspace_id = ?", [
    tenant.workspaceId,
  ]);

  const anew = await put(tenant, { limit_amount: '10' });
  const again = await put(tenant, { limit_amount: '10' });
  await makeCall(world.api.db, tenant, { cost: '2' });

  expect([anew.headers['etag'], again.headers['etag']]).toEqual(['"2"', '"2"']);
  expect(await status(tenant)).toMatchObject({ spent: '2.00', fx_rate: null, fx_as_of: null, budget_version: 2 });
});

test('a deleted budget refuses nobody; its window closes, calls in flight settle into it and the ledger stays', async () => {
  const tenant = await world.tenant();
  await put(tenant, { limit_amount: '0', is_enforced: true });
  const runId = newId();

  const removed = await world.call(tenant.tokens.admin, 'DELETE', pathOf(tenant));
  const again = await world.call(tenant.tokens.admin, 'DELETE', pathOf(tenant));
  await settleCall(world.api.db, tenant, { runId, cost: '2' });

  expect([removed.status, again.status]).toEqual([204, 404]);
  expect((await makeCall(world.api.db, tenant, { cost: '1' })).outcome).toBe('ok');
  expect(await sql('select closed_at is not null as is_closed from budget_windows where workspace_id = ?', [tenant.workspaceId])).toEqual([
    { is_closed: true },
  ]);
  expect(await sql('select id from alert_rules where workspace_id = ? and deleted_at is null', [tenant.workspaceId])).toEqual([]);
  expect(await sql('select run_id from usage_entries where run_id = ?', [runId])).toHaveLength(1);
});

test('the log says who set which ceiling', async () => {
  const tenant = await world.tenant();
  await put(tenant, { limit_amount: '5' });
  await put(tenant, { limit_amount: '6' });

  const { body } = await world.call(tenant.tokens.admin, 'GET', '/audit-log?resource_type=budget');

  expect(body.items).toMatchObject([
    { action: 'update', changes: { limit_amount: { from: '5.00', to: '6.00' } } },
    { action: 'update', changes: { limit_amount: { to: '5.00' }, is_enforced: { to: false } } },
  ]);
});

test('reading a budget, its status and a list takes one query each', async () => {
  const tenant = await world.tenant();
  await put(tenant, { limit_amount: '5' });
  for (const path of [pathOf(tenant), `${pathOf(tenant)}/status`, '/budgets']) {
    statements.length = 0;
    await world.call(tenant.tokens.viewer, 'GET', path);
    expect([path, statements.filter(isOfRequest).length]).toEqual([path, 1]);
  }
});
