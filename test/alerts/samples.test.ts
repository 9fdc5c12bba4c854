import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { SamplerKind } from '../../db/alerts/alert-rule.entity.ts';
import { measure } from '../../db/alerts/samples.ts';
import { newId } from '../../db/ids.ts';
import { openReadOnly, organizationTenant, systemActor } from '../../db/transaction.ts';
import { insertRow, sampleRow, type RowValues } from '../db/rows.ts';
import { makeWorld } from '../db/world.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let admin: pg.Client;

beforeAll(async () => {
  database = await testDatabase();
  admin = new pg.Client(database.adminUrl);
  await admin.connect();
  // Rows stand alone: what they hang on is not measured.
  await admin.query('set session_replication_role = replica');
});
afterAll(async () => {
  await admin?.end();
  await database?.drop();
});

const at = new Date('2026-05-01T10:00:00Z');
const before = (seconds: number) => new Date(at.getTime() - seconds * 1_000);

async function openPlace() {
  const { organizationId, workspaceIds, agentId } = await makeWorld(database.db);
  const [workspaceId = ''] = workspaceIds;
  const meta = (table: string) => {
    const found = [...database.db.app.em.getMetadata().getAll().values()].find(({ tableName }) => tableName === table);
    if (!found) throw new Error(`no table ${table}`);
    return found;
  };
  return {
    agentId,
    add: (table: string, values: RowValues) =>
      insertRow(admin, table, { ...sampleRow(meta(table), { organizationId, workspaceId }), ...values }),
    value: async (kind: SamplerKind, more: { agentId?: string; windowS?: number } = {}) => {
      const { em } = openReadOnly(database.db, {
        tenant: organizationTenant(organizationId),
        actor: systemActor,
        correlationId: newId(),
      }).tx;
      const rule = {
        id: newId(),
        workspaceId: null,
        agentId: more.agentId ?? null,
        groupBy: 'none' as const,
        windowS: more.windowS ?? 300,
      };
      const measured = await measure(em, { organizationId, kind, rules: [rule], at, currency: 'USD' });
      return measured.map(({ value }) => Number(value));
    },
  };
}

const run = (status: string, endedS: number, more: RowValues = {}) => ({
  status,
  finish_reason: status === 'succeeded' ? 'stop' : status === 'failed' ? 'error' : 'cancelled',
  finished_at: before(endedS),
  started_at: before(endedS + 10),
  source: 'api',
  ...more,
});

test('runs that ended within the window are counted, failed ones among them; evaluations are left aside', async () => {
  const place = await openPlace();
  await place.add('runs', run('failed', 10, { agent_id: place.agentId, started_at: before(110) }));
  for (const endedS of [20, 30]) await place.add('runs', run('succeeded', endedS));
  await place.add('runs', run('cancelled', 40));
  await place.add('runs', run('failed', 50, { source: 'evaluation' }));
  await place.add('runs', run('failed', 301));

  expect(await place.value('run_failures')).toEqual([1]);
  expect(await place.value('run_failure_pct')).toEqual([25]);
  expect(await place.value('run_failure_pct', { agentId: place.agentId })).toEqual([100]);
  expect(await place.value('run_failures', { windowS: 600 })).toEqual([2]);
  const [p95 = 0] = await place.value('run_duration_p95');
  expect(p95).toBeGreaterThan(80);
  expect(p95).toBeLessThan(100);
});

test('of no run a percentage and a duration are nothing', async () => {
  const place = await openPlace();

  expect([await place.value('run_failure_pct'), await place.value('run_duration_p95')]).toEqual([[], []]);
});

test('queued and waiting runs count as they are now, however old', async () => {
  const place = await openPlace();
  const live = { finish_reason: null, finished_at: null, source: 'api' };
  await place.add('runs', { ...live, status: 'queued', created_at: before(100_000) });
  await place.add('runs', { ...live, status: 'waiting', waiting_on: 'input', waiting_until: at, waiting_since: at });
  await place.add('runs', { ...live, status: 'running' });

  expect(await place.value('runs_waiting')).toEqual([2]);
});

test('notices that were given up count, tests and those of rules about deliveries aside', async () => {
  const place = await openPlace();
  const rule = async (kind: string) => {
    const id = newId();
    await place.add('alert_rules', { id, kind, budget_id: null, targets: '[]', threshold: '1' });
    return id;
  };
  const [spend, deliveries] = [await rule('spend'), await rule('delivery_failures')];
  const dead = (ruleId: string, more: RowValues = {}) =>
    place.add('alert_deliveries', { id: newId(), rule_id: ruleId, event: 'firing', status: 'dead', updated_at: before(10), ...more });
  await dead(spend);
  await dead(spend, { event: 'test' });
  await dead(spend, { status: 'failed' });
  await dead(spend, { updated_at: before(400) });
  await dead(deliveries);

  expect(await place.value('delivery_failures')).toEqual([1]);
});

test('callbacks that were given up count, those that were delivered or stopped do not', async () => {
  const place = await openPlace();
  const callback = (status: string, updatedS = 10) =>
    place.add('outbound_callbacks', {
      id: newId(),
      status,
      url: 'https://example.com/done',
      next_attempt_at: null,
      updated_at: before(updatedS),
    });
  for (const status of ['failed', 'failed', 'delivered', 'stopped', 'pending']) await callback(status);
  await callback('failed', 400);

  expect(await place.value('delivery_failures')).toEqual([2]);
});

test('parts of answers that a channel could not send count, those that may have arrived do not', async () => {
  const place = await openPlace();
  const part = (state: string, updatedS = 10) => place.add('channel_outbound', { id: newId(), state, updated_at: before(updatedS) });
  for (const state of ['failed', 'failed', 'sent', 'unknown', 'pending', 'sending']) await part(state);
  await part('failed', 400);

  expect(await place.value('delivery_failures')).toEqual([2]);
});

test('missed occurrences count for the agent of their schedule', async () => {
  const place = await openPlace();
  const scheduleId = newId();
  await place.add('schedules', { id: scheduleId, agent_id: place.agentId });
  for (const [status, createdS] of [
    ['missed', 10],
    ['missed', 299],
    ['missed', 301],
    ['failed', 10],
  ] as const)
    await place.add('schedule_occurrences', {
      id: newId(),
      schedule_id: scheduleId,
      status,
      created_at: before(createdS),
      nominal_at: before(createdS + (status === 'failed' ? 1 : 0)),
    });

  expect(await place.value('schedule_missed')).toEqual([2]);
  expect(await place.value('schedule_missed', { agentId: place.agentId })).toEqual([2]);
  expect(await place.value('schedule_missed', { agentId: newId() })).toEqual([]);
});

test('what was spent is what was priced in the billing currency: currencies are never added up', async () => {
  const place = await openPlace();
  const spent = (cost: string, currency: string, more: RowValues = {}) =>
    place.add('usage_entries', { cost, currency, occurred_at: before(10), reserved_at: before(11), ...more });
  await spent('0.1', 'USD');
  await spent('0.2', 'USD', { agent_id: place.agentId });
  await spent('5', 'EUR');
  await spent('7', 'USD', { occurred_at: before(301) });

  expect(await place.value('spend')).toEqual([0.3]);
  expect(await place.value('spend', { agentId: place.agentId })).toEqual([0.2]);
});
