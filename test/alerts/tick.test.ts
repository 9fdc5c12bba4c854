import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createAlertActivities } from '../../activities/maintenance/alert-activities.ts';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { AlertRule } from '../../db/alerts/alert-rule.entity.ts';
import type { AlertRow } from '../../db/alerts/alerts.ts';
import { quietGroup, setAlertMarks } from '../../db/alerts/handle.ts';
import { changeRule, deleteRule } from '../../domain/alerts/rules.ts';
import { judgeTick, partsOf, readTick } from '../../domain/alerts/tick.ts';
import { openReadOnly, organizationTenant, sweep, systemActor, transact } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import { signOrganization, verifyOrganization } from '../../temporal/header.ts';
import { makeWorld } from '../db/world.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';

const statements: string[] = [];
const keys = randomKeyRing();
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => database?.drop());

const start = Date.parse('2026-05-01T10:00:00Z');
const minute = (n: number) => new Date(start + n * 60_000);
const log = pino({ level: 'silent' });

/** An organization whose rules and rows the test writes. */
async function openPlace(workspaces = 1) {
  const { organizationId, workspaceIds, agentId } = await makeWorld(database.db, workspaces);
  const sql = <T>(text: string, params: readonly unknown[] = []) => sweep(database.db, (em) => rows<T>(em, text, params));
  const [workspaceId = ''] = workspaceIds;
  const options = { tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId() };
  const activities = createAlertActivities({
    db: database.db,
    log,
    dispatch: async () => undefined,
    env: { billingCurrency: 'USD' },
    keys,
  });

  return {
    organizationId,
    workspaceId,
    workspaceIds,
    agentId,
    sql,
    options,
    activities,
    tick: (at: number) =>
      activities.judgeAlerts({ organization: signOrganization(keys.headerKeys, organizationId), at: minute(at).toISOString() }),
    rule: async (columns: Record<string, unknown> = {}) => {
      const id = newId();
      const row = {
        name: 'Rule',
        kind: 'spend',
        operator: 'gt',
        threshold: '10',
        window_s: 300,
        workspace_id: workspaceId,
        targets: '[]',
        ...columns,
      };
      const names = Object.keys(row);
      await sql(`insert into alert_rules (id, organization_id, ${names.join(', ')}) values (?, ?, ${names.map(() => '?').join(', ')})`, [
        id,
        organizationId,
        ...Object.values(row),
      ]);
      return id;
    },
    spend: (at: number, cost: string, columns: { workspace?: string; agent?: string | null; unpriced?: boolean } = {}) =>
      sql(
        `insert into usage_entries (id, call_key, organization_id, workspace_id, occurred_at, reserved_at, source_kind, source_id, agent_id, kind, cost, currency, unpriced)
         values (gen_random_uuid(), gen_random_uuid()::text, ?, ?, ?, ?, 'run', gen_random_uuid(), ?, 'llm', ?, 'USD', ?)`,
        [organizationId, columns.workspace ?? workspaceId, minute(at), minute(at), columns.agent ?? null, cost, columns.unpriced ?? false],
      ),
    alerts: () =>
      sql<{
        status: string;
        severity: string;
        value: string | null;
        title: string;
        resolution: string | null;
        labels: object;
        workspace_id: string | null;
      }>(
        `select status, severity, trim_scale(value)::text as value, title, resolution, labels, workspace_id from alerts where organization_id = ? order by opened_at, fingerprint`,
        [organizationId],
      ),
    events: (ruleId: string) =>
      sql<{ event: string }>('select event from alert_deliveries where rule_id = ? order by created_at, seq', [ruleId]).then((found) =>
        found.map(({ event }) => event),
      ),
    states: (ruleId: string) =>
      sql<{ fingerprint: string; state: string }>('select fingerprint, state from alert_states where rule_id = ? order by 1', [ruleId]),
  };
}

const hook = JSON.stringify([{ kind: 'webhook', url: 'https://example.com/x', secret_name: 'hook' }]);

test('spend over the threshold opens one alert; it repeats at its interval and ends once, however often and late it ticks', async () => {
  const place = await openPlace();
  const id = await place.rule({ warning_threshold: '5', repeat_interval_s: 300, targets: hook });

  await place.tick(0);
  await place.spend(0.5, '6.5');
  for (const at of [1, 1, 2]) await place.tick(at);
  await place.spend(2.5, '4');
  for (let at = 3; at < 11; at += 1) await place.tick(at);
  expect(await place.tick(4)).toBe(0);

  expect(await place.events(id)).toEqual(['firing', 'escalated', 'resolved']);
  expect(await place.alerts()).toMatchObject([
    { status: 'resolved', severity: 'critical', resolution: 'recovered', title: 'Rule: 10.50 USD spent within 5 minutes, above 10' },
  ]);
  const transitions = await place.sql(
    'select from_status, to_status, severity from alert_transitions where organization_id = ? order by at',
    [place.organizationId],
  );
  expect(transitions).toEqual([
    { from_status: 'ok', to_status: 'firing', severity: 'warning' },
    { from_status: 'firing', to_status: 'firing', severity: 'critical' },
    { from_status: 'firing', to_status: 'resolved', severity: 'critical' },
  ]);
});

test('a breach for hours: firing, a repeat an hour, resolved', async () => {
  const place = await openPlace();
  const id = await place.rule({ window_s: 60, repeat_interval_s: 3_600, targets: hook, operator: 'lt', threshold: '1' });
  for (let at = 0; at <= 130; at += 1) await place.tick(at);
  await place.spend(130.5, '2');
  await place.tick(131);

  expect(await place.events(id)).toEqual(['firing', 'repeated', 'repeated', 'resolved']);
});

test('two processes that judge the same tick at once open one alert', async () => {
  const place = await openPlace();
  const id = await place.rule({ targets: hook });
  await place.spend(0.5, '11');

  const judged = await Promise.all(Array.from({ length: 6 }, () => place.tick(1)));

  expect(judged.toSorted()).toEqual([0, 0, 0, 0, 0, 1]);
  expect(await place.events(id)).toEqual(['firing']);
});

test('a tick that began before its rule was paused or deleted writes nothing afterwards', async () => {
  const place = await openPlace();
  const id = await place.rule({ targets: hook });
  await place.tick(0);
  await place.spend(0.5, '11');
  const late = await readTick(openReadOnly(database.db, place.options).tx, {
    organizationId: place.organizationId,
    at: minute(1),
    currency: 'USD',
  });

  await transact(database.db, place.options, async (tx) => {
    const rule = await tx.em.findOneOrFail(AlertRule, { id });
    await changeRule(tx, rule, { isActive: false }, minute(1));
  });
  const { value: judged } = await transact(database.db, place.options, (tx) => judgeTick(tx, late, 'USD'));

  expect([late.rules.length, judged]).toEqual([1, 0]);
  expect([await place.states(id), await place.alerts(), await place.tick(2)]).toEqual([[], [], 0]);
});

test('a tick that measured before a person resolved or acknowledged the alert neither opens it again nor repeats it', async () => {
  const place = await openPlace();
  const { organizationId } = place;
  const rules = [await place.rule({ targets: hook, repeat_interval_s: 300 }), await place.rule({ targets: hook, repeat_interval_s: 300 })];
  await place.spend(0.5, '11');
  await place.spend(5.5, '11');
  await place.tick(1);
  const late = await readTick(openReadOnly(database.db, place.options).tx, { organizationId, at: minute(6), currency: 'USD' });

  const [resolved, acknowledged] = await place.sql<Pick<AlertRow, 'id' | 'ruleId'>>(
    'select id, rule_id as "ruleId" from alerts where organization_id = ? order by rule_id',
    [organizationId],
  );
  await transact(database.db, place.options, async (tx) => {
    await quietGroup(tx, resolved?.id ?? '', { at: minute(6), quietUntil: minute(60) });
    await setAlertMarks(tx, acknowledged?.id ?? '', { acknowledgedAt: minute(6) });
  });
  const { value: judged } = await transact(database.db, place.options, (tx) => judgeTick(tx, late, 'USD'));

  expect(judged).toBe(1);
  expect(await Promise.all(rules.map((id) => place.events(id)))).toEqual([['firing'], ['firing']]);
  expect(await place.states(resolved?.ruleId ?? '')).toEqual([{ fingerprint: 'all', state: 'ok' }]);
  expect(await place.tick(6)).toBe(1);
});

test('a rule that is paused, then deleted, ends its alert once and tells nobody', async () => {
  const place = await openPlace();
  const id = await place.rule({ targets: hook });
  await place.spend(0.5, '11');
  await place.tick(1);

  const during = (work: (rule: AlertRule) => Parameters<typeof transact>[2]) =>
    transact(database.db, place.options, async (tx) => work(await tx.em.findOneOrFail(AlertRule, { id }))(tx));
  await during((rule) => (tx) => changeRule(tx, rule, { isActive: false }, minute(2)));
  await during((rule) => (tx) => deleteRule(tx, rule, minute(3)));

  expect(await place.alerts()).toMatchObject([{ status: 'resolved', resolution: 'rule_changed' }]);
  expect(await place.events(id)).toEqual(['firing']);
});

test('a rule of the organization groups by workspace: an alert lies in its own, and one that is gone and fine is forgotten', async () => {
  const place = await openPlace(2);
  const [first = '', second = ''] = place.workspaceIds;
  const id = await place.rule({ workspace_id: null, group_by: 'workspace' });
  await place.spend(0.5, '11', { workspace: first });
  await place.spend(0.5, '3', { workspace: second });
  await place.tick(1);
  const before = await place.states(id);
  await place.tick(20);
  await place.tick(21);

  expect(before).toEqual(
    [
      { fingerprint: `workspace:${first}`, state: 'firing' },
      { fingerprint: `workspace:${second}`, state: 'ok' },
    ].toSorted((left, right) => (left.fingerprint < right.fingerprint ? -1 : 1)),
  );
  expect(await place.alerts()).toMatchObject([{ workspace_id: first, labels: { workspace_id: first }, status: 'resolved' }]);
  expect(await place.states(id)).toEqual([]);
});

test('of more than 200 groups the rest is one', async () => {
  const place = await openPlace();
  const id = await place.rule({ group_by: 'agent', threshold: '4.5' });
  await place.sql(
    `insert into usage_entries (id, call_key, organization_id, workspace_id, occurred_at, reserved_at, source_kind, source_id, agent_id, kind, cost, currency)
     select gen_random_uuid(), gen_random_uuid()::text, ?, ?, ?, ?, 'run', gen_random_uuid(), gen_random_uuid(), 'llm', 1, 'USD' from generate_series(1, 205)`,
    [place.organizationId, place.workspaceId, minute(0), minute(0)],
  );

  await place.tick(1);

  const states = await place.states(id);
  expect(states).toHaveLength(201);
  expect(states.filter(({ state }) => state === 'firing')).toEqual([{ fingerprint: 'other', state: 'firing' }]);
  expect(await place.alerts()).toMatchObject([{ value: '5', labels: { group: 'other' } }]);
});

test('a tick that is cut off among many groups that fire goes on behind the rules that it has judged', async () => {
  const place = await openPlace();
  const ids: string[] = [];
  for (let n = 0; n < 6; n += 1) ids.push(await place.rule({ group_by: 'agent', threshold: '0.5' }));
  await place.sql(
    `insert into usage_entries (id, call_key, organization_id, workspace_id, occurred_at, reserved_at, source_kind, source_id, agent_id, kind, cost, currency)
     select gen_random_uuid(), gen_random_uuid()::text, ?, ?, ?, ?, 'run', gen_random_uuid(), gen_random_uuid(), 'llm', 1, 'USD' from generate_series(1, 200)`,
    [place.organizationId, place.workspaceId, minute(0), minute(0)],
  );
  const readings = await readTick(openReadOnly(database.db, place.options).tx, {
    organizationId: place.organizationId,
    at: minute(1),
    currency: 'USD',
  });
  const [first] = partsOf(readings);
  await transact(database.db, place.options, (tx) => judgeTick(tx, first ?? readings, 'USD'));

  expect(await place.tick(1)).toBe(1);

  expect(await place.alerts()).toHaveLength(1_200);
  for (const id of ids) expect(await place.states(id)).toHaveLength(200);
});

test('a rule of one agent, and one of another workspace, count their own alone', async () => {
  const place = await openPlace(2);
  const [first = '', second = ''] = place.workspaceIds;
  await place.rule({ agent_id: place.agentId });
  await place.rule({ workspace_id: second });
  await place.spend(0.5, '20', { workspace: first });
  await place.spend(0.5, '9', { workspace: first, agent: place.agentId });
  await place.spend(0.5, '10', { workspace: second });

  await place.tick(1);

  expect(await place.alerts()).toEqual([]);
});

test('unpriced calls are counted; an entry at the edge of the window counts once', async () => {
  const place = await openPlace();
  await place.rule({ kind: 'unpriced_usage', operator: 'gte', threshold: '1', window_s: 60 });
  await place.spend(1, '0', { unpriced: true });

  for (const at of [1, 2, 3]) await place.tick(at);

  expect(await place.alerts()).toMatchObject([
    { value: '0', resolution: 'recovered', title: 'Rule: 1 calls without a price within a minute, at or above 1' },
  ]);
});

test('the statements of a tick grow with the kinds of an organization, and with neither its rules nor its groups', async () => {
  const place = await openPlace();
  for (const kind of ['spend', 'runs_waiting']) for (let at = 0; at < 3; at += 1) await place.rule({ kind });
  const counted = async (at: number) => {
    statements.length = 0;
    await place.tick(at);
    return statements.filter((sql) => !/set_config/.test(sql)).length;
  };
  await place.tick(0);
  const few = await counted(1);
  for (const kind of ['spend', 'runs_waiting']) for (let at = 0; at < 20; at += 1) await place.rule({ kind });
  await place.tick(2);
  const many = await counted(3);

  // Rules with their states, one a kind, and one that locks and writes both.
  expect(few).toBe(4);
  expect(many).toBe(few);
});

test('an organization that nobody has signed is not judged, nor is a tick of the future: it would keep all later ones from judging', async () => {
  const place = await openPlace();
  await place.rule();
  await place.spend(1, '20');
  const { organizationId, activities } = place;
  const at = minute(2).toISOString();
  const forged = [
    organizationId,
    signOrganization(randomKeyRing().headerKeys, organizationId),
    signOrganization(keys.headerKeys, newId()).replace(/^[^.]+/, organizationId),
  ];

  for (const organization of forged) await expect(activities.judgeAlerts({ organization, at })).rejects.toThrow(/sign/);
  const organization = signOrganization(keys.headerKeys, organizationId);
  expect(await activities.judgeAlerts({ organization, at: new Date(Date.now() + 3_600_000).toISOString() })).toBe(0);
  expect(await place.alerts()).toEqual([]);
  expect(await activities.judgeAlerts({ organization, at })).toBe(1);
  expect(await place.alerts()).toHaveLength(1);
});

test('suspended organizations and archived workspaces are left alone', async () => {
  const [suspended, archived] = [await openPlace(), await openPlace()];
  for (const place of [suspended, archived]) await place.rule();
  await suspended.sql("update organizations set status = 'suspended' where id = ?", [suspended.organizationId]);
  await archived.sql('update workspaces set is_active = false where id = ?', [archived.workspaceId]);

  const signed = await suspended.activities.dueAlertOrganizations({ after: null });

  const due = signed.map((organization) => verifyOrganization(keys.headerKeys, organization));
  expect(due).not.toContain(suspended.organizationId);
  expect(await archived.tick(1)).toBe(0);
});

test('a delivery that is ten minutes overdue is started again, since Temporal may have lost it; one that is over or waits is not', async () => {
  const place = await openPlace();
  await place.rule({ targets: hook, group_by: 'agent' });
  for (let at = 0; at < 3; at += 1) await place.spend(0.5, '11', { agent: newId() });
  await place.tick(1);
  const [lost, over, waiting] = await place.sql<{ id: string }>('select id from alert_deliveries where organization_id = ? order by id', [
    place.organizationId,
  ]);
  await place.sql("update outbox set sent_at = now() - interval '11 minutes' where organization_id = ?", [place.organizationId]);
  await place.sql("update alert_deliveries set created_at = now() - interval '11 minutes' where organization_id = ?", [
    place.organizationId,
  ]);
  await place.sql("update alert_deliveries set status = 'sent' where id = ?", [over?.id]);
  await place.sql("update alert_deliveries set status = 'failed', next_attempt_at = now() - interval '1 minute' where id = ?", [
    waiting?.id,
  ]);

  await place.activities.dueAlertOrganizations({ after: null });

  const unsent = await place.sql('select target from outbox where organization_id = ? and sent_at is null', [place.organizationId]);
  expect(unsent).toEqual([{ target: `delivery:${lost?.id}` }]);
});

test('alerts that were resolved 400 days ago go with all that hangs on them; others stay', async () => {
  const place = await openPlace();
  await place.rule({ targets: hook });
  await place.spend(0.5, '11');
  for (const at of [1, 20]) await place.tick(at);
  await place.spend(30, '11');
  for (const at of [31, 50]) await place.tick(at);
  await place.sql("update alerts set resolved_at = now() - interval '401 days' where organization_id = ? and window_key = ?", [
    place.organizationId,
    minute(1).toISOString(),
  ]);
  await place.sql("update alerts set resolved_at = now() - interval '399 days' where organization_id = ? and window_key <> ?", [
    place.organizationId,
    minute(1).toISOString(),
  ]);

  const swept = await sweep(database.db, async (em) => (await import('../../db/alerts/upkeep.ts')).sweepResolvedAlerts(em, 100));

  expect(swept).toBe(1);
  expect(await place.alerts()).toHaveLength(1);
});
