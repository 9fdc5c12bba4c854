import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { connectDatabases } from '../../../db/orm.ts';
import type { Databases } from '../../../db/databases.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { readAdjustedPlace } from '../../../db/billing/ledger/adjusted-place.ts';
import { insertAdjustment } from '../../../db/billing/ledger/adjustments.ts';
import { signOrganization } from '../../../temporal/header.ts';
import { createAlertActivities } from '../../../activities/maintenance/alert-activities.ts';
import { tendBudgets } from '../../../activities/maintenance/budget-activities.ts';
import { inWorkspace, settleCall } from '../../support/calls.ts';
import { until } from '../../support/temporal.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;
/** As a second process has it. */
let other: Databases;

beforeAll(async () => {
  world = await openWorld();
  const { appUrl, sweeperUrl } = world.api.database;
  const pools = { poolMax: 12, sweeperPoolMax: 1, applicationName: 'second process', acquireTimeoutMs: 60_000 };
  other = await connectDatabases({ appUrl, sweeperUrl, ...pools, log: pino({ level: 'silent' }), onQuery: () => undefined });
});
afterAll(async () => {
  await other?.close();
  await world?.close();
});

const sql = <T>(text: string, params: readonly unknown[] = []) => sweep(world.api.db, (em) => rows<T>(em, text, params));
const put = (tenant: TestTenant, body: object) =>
  world.call(tenant.tokens.admin, 'PUT', `/budgets/${tenant.workspaceId}`, { body: { limit_amount: '1', is_enforced: true, ...body } });
const spend = (tenant: TestTenant, cost: string, db = world.api.db) => settleCall(db, tenant, { cost });

/** Who waits for the transaction that asks. */
const waiting = 'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))';
const adjust = (tenant: TestTenant, cost: string) =>
  inWorkspace(world.api.db, tenant, async (tx) => {
    const place = await readAdjustedPlace(tx, { workspaceId: tenant.workspaceId, runId: null });
    if (place) await insertAdjustment(tx, place, { key: crypto.randomUUID(), cost, currency: 'USD', at: new Date() });
  });

const alertsOf = (tenant: TestTenant) =>
  sql<{ status: string; severity: string; resolution: string | null; title: string; value: string }>(
    'select status, severity, resolution, title, trim_scale(value)::text as value from alerts where workspace_id = ? order by id',
    [tenant.workspaceId],
  );
/** Events by receiver; a receiver that hears of one twice stands twice. */
const noticesOf = (tenant: TestTenant) =>
  sql<{ target_key: string; event: string; times: number }>(
    'select target_key, event, count(*)::int as times from alert_deliveries where workspace_id = ? group by target_key, event order by 2, 1',
    [tenant.workspaceId],
  );
const tend = () =>
  tendBudgets({ db: world.api.db, log: pino({ level: 'silent' }), dispatch: () => Promise.resolve() }, AbortSignal.timeout(60_000));

test('200 calls at once on two processes cross threshold and limit: each receiver gets one warning and one that it is spent', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day' });
  await put(tenant, { period: 'month', limit_amount: '100' });

  await Promise.all(Array.from({ length: 200 }, (_, n) => spend(tenant, '0.01', n % 2 === 0 ? world.api.db : other)));

  expect(await alertsOf(tenant)).toMatchObject([{ status: 'firing', severity: 'critical', resolution: null, value: '100' }]);
  const notices = await noticesOf(tenant);
  const receivers = new Set(notices.map(({ target_key: key }) => key));
  expect(receivers.size).toBeGreaterThan(1);
  expect(notices).toHaveLength(2 * receivers.size);
  expect(notices.every(({ times }) => times === 1)).toBe(true);
  expect(new Set(notices.map(({ event }) => event))).toEqual(new Set(['firing', 'escalated']));
});

test('an alert that opens and one that ends, and a budget that is spent, are events of the workspace with ids alone', async () => {
  const tenant = await world.tenant();
  await put(tenant, { alert_threshold_pct: 50 });

  await spend(tenant, '0.6');
  await spend(tenant, '0.6');
  await put(tenant, { limit_amount: '100' });

  const events = await sql<{ event_kind: string; payload: object }>(
    "select event_kind, payload from events where workspace_id = ? and source = 'platform' order by id",
    [tenant.workspaceId],
  );
  const [alert] = await sql<{ id: string; rule_id: string; budget_id: string }>(
    'select a.id, a.rule_id, r.budget_id from alerts a join alert_rules r on r.id = a.rule_id where a.workspace_id = ?',
    [tenant.workspaceId],
  );
  const ofAlert = { alert_id: alert?.id, rule_id: alert?.rule_id };
  expect(events).toEqual([
    { event_kind: 'alert.firing', payload: ofAlert },
    { event_kind: 'budget.exceeded', payload: { alert_id: alert?.id, budget_id: alert?.budget_id } },
    { event_kind: 'alert.resolved', payload: ofAlert },
  ]);
});

test('a call that crosses both is one notice; one that is settled again is none', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day' });
  const runId = crypto.randomUUID();

  for (let times = 0; times < 2; times += 1) await settleCall(world.api.db, tenant, { runId, cost: '2' });

  expect(await alertsOf(tenant)).toMatchObject([
    { severity: 'critical', value: '200', title: 'The budget of the day is spent: 2.00 of 1.00 USD' },
  ]);
  expect((await noticesOf(tenant)).every(({ event, times }) => event === 'firing' && times === 1)).toBe(true);
});

test('a restart sends no notice again: neither a settling that is repeated, nor upkeep, nor a tick finds anything new to say', async () => {
  const tenant = await world.tenant();
  const runId = crypto.randomUUID();
  await put(tenant, {});
  await settleCall(world.api.db, tenant, { runId, cost: '2' });
  const deliveries = 'select id, seq, event, status from alert_deliveries where workspace_id = ? order by id';
  await sql("update alert_deliveries set status = 'sent', sent_at = now() where workspace_id = ?", [tenant.workspaceId]);
  await sql("update outbox set sent_at = now() - interval '1 hour' where workspace_id = ? and kind = 'workflow.start'", [
    tenant.workspaceId,
  ]);
  const before = await sql(deliveries, [tenant.workspaceId]);

  const deps = { db: other, log: pino({ level: 'silent' }), dispatch: () => Promise.resolve() };
  const alerts = createAlertActivities({ ...deps, env: { billingCurrency: 'USD' }, keys: world.api.keys });
  expect(await settleCall(other, tenant, { runId, cost: '2' })).toBeNull();
  await tendBudgets(deps, AbortSignal.timeout(60_000));
  await alerts.dueAlertOrganizations({ after: null });
  await alerts.judgeAlerts({
    organization: signOrganization(world.api.keys.headerKeys, tenant.organizationId),
    at: new Date().toISOString(),
  });
  await put(tenant, {});

  expect(before.length).toBeGreaterThan(0);
  expect(await sql(deliveries, [tenant.workspaceId])).toEqual(before);
  expect(
    await sql("select id from outbox where workspace_id = ? and target like 'delivery:%' and sent_at is null", [tenant.workspaceId]),
  ).toEqual([]);
  expect(await alertsOf(tenant)).toMatchObject([{ status: 'firing', severity: 'critical' }]);
});

test('a PUT ends the open alert and judges at once, and may notify once more; the same budget again does not', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day' });
  await spend(tenant, '0.9');

  await put(tenant, { period: 'day' });
  const same = await alertsOf(tenant);
  await put(tenant, { period: 'day', limit_amount: '0.95' });
  const lowered = await alertsOf(tenant);
  await put(tenant, { period: 'day', limit_amount: '10' });

  expect(same).toMatchObject([{ status: 'firing', severity: 'warning' }]);
  expect(lowered).toMatchObject([
    { status: 'resolved', resolution: 'budget_changed' },
    { status: 'firing', severity: 'warning', value: '94.7' },
  ]);
  expect(await alertsOf(tenant)).toMatchObject([{ status: 'resolved' }, { status: 'resolved', resolution: 'budget_changed' }]);
});

test('what a person has resolved is not said again in its window, but that the budget is spent is', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day' });
  await spend(tenant, '0.85');
  await sql(`update alerts set status = 'resolved', resolution = 'manual', resolved_at = now() where workspace_id = ?`, [
    tenant.workspaceId,
  ]);

  await spend(tenant, '0.05');
  const between = await alertsOf(tenant);
  await spend(tenant, '0.2');

  expect(between).toHaveLength(1);
  expect(await alertsOf(tenant)).toMatchObject([{ status: 'resolved' }, { status: 'firing', severity: 'critical' }]);

  // A correction takes it below its threshold, and calls over both once more: what was said is said, and stays open.
  await adjust(tenant, '-0.5');
  for (const cost of ['0.25', '0.25']) await spend(tenant, cost);
  expect(await alertsOf(tenant)).toMatchObject([{ status: 'resolved' }, { status: 'firing', severity: 'critical' }]);
});

test('a call that fills the budget while a person resolves its warning is said all the same', async () => {
  const tenant = await world.tenant();
  await put(tenant, {});
  await spend(tenant, '0.85');

  const filling = await sweep(world.api.db, async (em) => {
    await rows(em, `update alerts set status = 'resolved', resolution = 'manual', resolved_at = now() where workspace_id = ?`, [
      tenant.workspaceId,
    ]);
    const spending = spend(tenant, '0.2', other);
    await until(async () => (await rows(em, waiting)).length > 0);
    return { spending };
  });
  await filling.spending;

  expect(await alertsOf(tenant)).toMatchObject([
    { status: 'resolved', severity: 'warning' },
    { status: 'firing', severity: 'critical' },
  ]);
  expect(new Set((await noticesOf(tenant)).map(({ event }) => event))).toEqual(new Set(['firing']));
});

test('what has been said is not said again when a correction has a call cross the same line once more, open or resolved', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day' });
  const crossAgain = async () => {
    await spend(tenant, '-1');
    await spend(tenant, '0.5');
    await spend(tenant, '0.5');
  };
  await spend(tenant, '1');

  await crossAgain();
  const open = await alertsOf(tenant);
  await sql(`update alerts set status = 'resolved', resolution = 'manual', resolved_at = now() where workspace_id = ?`, [
    tenant.workspaceId,
  ]);
  await crossAgain();

  expect(open).toMatchObject([{ status: 'firing', severity: 'critical' }]);
  expect(await alertsOf(tenant)).toHaveLength(1);
  expect((await noticesOf(tenant)).every(({ event, times }) => event === 'firing' && times === 1)).toBe(true);
});

test('a budget that is not enforced notifies all the same; one without a limit, or whose rule is paused, does not', async () => {
  const [counted, open, paused] = [await world.tenant(), await world.tenant(), await world.tenant()];
  await put(counted, { is_enforced: false });
  await put(open, { limit_amount: null });
  await put(paused, {});
  await sql('update alert_rules set is_active = false where workspace_id = ?', [paused.workspaceId]);

  for (const tenant of [counted, open, paused]) await spend(tenant, '5');

  expect(await alertsOf(counted)).toMatchObject([{ severity: 'critical' }]);
  expect([await alertsOf(open), await alertsOf(paused)]).toEqual([[], []]);
});

test('the alert of a window ends with it, whoever rolled it, and the next window notifies anew', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day' });
  await spend(tenant, '2');
  await sql(
    `update alerts set labels = labels || jsonb_build_object('window_end', to_char(now() - interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) where workspace_id = ?`,
    [tenant.workspaceId],
  );

  await tend();
  await tend();

  expect(await alertsOf(tenant)).toMatchObject([{ status: 'resolved', resolution: 'window_ended' }]);
});

test('an alert that can not be ended keeps no other from ending', async () => {
  const tenants = [await world.tenant(), await world.tenant()];
  for (const tenant of tenants) {
    await put(tenant, { period: 'day' });
    await spend(tenant, '2');
  }
  const ids = tenants.map(({ workspaceId }) => workspaceId);
  await sql(`update alerts set labels = labels || '{"window_end": "2026-01-01T00:00:00Z"}' where workspace_id = any (?::uuid[])`, [ids]);
  // Any fault will do: its counter is at its end.
  await sql('update alerts set next_seq = 2147483647 where workspace_id = ?', [tenants[0]?.workspaceId]);

  await tend();

  const resolved = await sql('select workspace_id from alerts where workspace_id = any (?::uuid[]) and resolved_at is not null', [ids]);
  expect(resolved).toEqual([{ workspace_id: tenants[1]?.workspaceId }]);
});

test('a budget that is deleted takes its alert along', async () => {
  const tenant = await world.tenant();
  await put(tenant, { limit_amount: '0' });
  const before = await alertsOf(tenant);

  await world.call(tenant.tokens.admin, 'DELETE', `/budgets/${tenant.workspaceId}`);

  expect(before).toMatchObject([{ severity: 'critical', status: 'firing' }]);
  expect(await alertsOf(tenant)).toMatchObject([{ status: 'resolved', resolution: 'budget_changed' }]);
});
