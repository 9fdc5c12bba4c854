import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eraseByAge } from '../../../activities/maintenance/erase-by-age.ts';
import { settleLostIn } from '../../../activities/operator/settle-lost.ts';
import { rollWindows } from '../../../db/billing/budgets/windows.ts';
import { newId } from '../../../db/ids.ts';
import { settleLostCall } from '../../../domain/runs/steps/lost-calls.ts';
import { lockRunWithAncestors } from '../../../db/runs/run-state.ts';
import { change, rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { inWorkspace } from '../../support/calls.ts';
import { until } from '../../support/temporal.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { silent } from '../../support/worker.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const write = (sql: string, params: unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const query = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const retain = () =>
  eraseByAge({ db: world.api.db, keys: world.api.keys, log: silent, signal: new AbortController().signal, send: world.api.deps.dispatch });
const statusOf = async (tenant: TestTenant, path: string) => (await world.call(tenant.tokens.admin, 'GET', path)).status;

/** A tenant that keeps runs 30 days, or for good, and one that keeps nothing. */
async function scene(days: number | null = 30) {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  await write('update organization_settings set run_retention_days = ?, delivery_retention_days = 7 where organization_id = ?', [
    days,
    tenant.organizationId,
  ]);
  return { tenant, ended: (ageDays: number) => endedRun(tenant, agent.id, ageDays), live: () => startRun(tenant, agent.id) };
}

async function startRun({ tokens }: TestTenant, agentId: string): Promise<string> {
  const started = await world.call(tokens.admin, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'secret words' } } });
  expect(started.status).toBe(202);
  return started.body.id;
}

async function endedRun(tenant: TestTenant, agentId: string, ageDays: number): Promise<string> {
  const runId = await startRun(tenant, agentId);
  await world.call(tenant.tokens.admin, 'POST', `/runs/${runId}/cancel`, { body: {} });
  await write("update runs set finished_at = now() - ?::float8 * interval '1 day' where id = ?", [ageDays, runId]);
  await write(
    `insert into usage_entries (id, organization_id, workspace_id, occurred_at, reserved_at, call_key, source_kind, source_id, run_id, kind, cost, currency)
     values (?, ?, ?, now(), now(), ?, 'run', ?, ?, 'llm', 1, 'USD')`,
    [newId(), tenant.organizationId, tenant.workspaceId, `run:${runId}:1:1:0`, runId, runId],
  );
  return runId;
}

test('a run past its days is gone as after DELETE, its stream too; what it cost stays, and one entry counts', async () => {
  const { tenant, ended, live } = await scene();
  const [old, other, young, running] = [await ended(31), await ended(45), await ended(29), await live()];

  await retain();
  await retain();

  for (const id of [old, other]) {
    expect(await statusOf(tenant, `/runs/${id}`)).toBe(404);
    expect(await statusOf(tenant, `/runs/${id}/stream`)).toBe(404);
    expect(
      await query('select run_id from run_streams where run_id = ? union all select run_id from messages where run_id = ?', [id, id]),
    ).toEqual([]);
  }
  expect(await query("select id from runs where id = any (?::uuid[]) and input::text like '%secret%'", [[old, other]])).toEqual([]);
  expect(await query('select cost from usage_entries where run_id = any (?::uuid[])', [[old, other]])).toHaveLength(2);
  for (const id of [young, running]) expect(await statusOf(tenant, `/runs/${id}`)).toBe(200);
  expect(
    await query("select changes from audit_entries where organization_id = ? and action = 'purge' and resource_type = 'run'", [
      tenant.organizationId,
    ]),
  ).toEqual([{ changes: { purged_runs: { from: null, to: 2 } } }]);
});

test('an organization without days keeps its runs, and nobody else’s days count for it', async () => {
  const keeping = await scene(null);
  const strict = await scene(1);
  const [kept, gone] = [await keeping.ended(4_000), await strict.ended(1.1)];

  await retain();

  expect(await statusOf(keeping.tenant, `/runs/${kept}`)).toBe(200);
  expect(await statusOf(strict.tenant, `/runs/${gone}`)).toBe(404);
});

test('a run is passed over while one below it lives or a call of it holds a part of a budget, and goes when that has ended', async () => {
  const { tenant, ended, live } = await scene();
  const [parent, holding, child] = [await ended(40), await ended(40), await live()];
  await write('update runs set parent_run_id = ?, root_run_id = ?, lineage = array[?::uuid] where id = ?', [parent, parent, parent, child]);
  const windowId = newId();
  await write(
    `insert into budget_windows (id, organization_id, workspace_id, budget_version, period, cap_key, window_start, currency, fx_rate, limit_amount, is_enforced)
     values (?, ?, ?, 1, 'cap', ?, now(), 'USD', 1, 1, true)`,
    [windowId, tenant.organizationId, tenant.workspaceId, `run:${holding}`],
  );
  await write(
    `insert into budget_holds (call_key, window_id, organization_id, workspace_id, amount, lease_until) values (?, ?, ?, ?, 0.5, now() + interval '1 hour')`,
    [`run:${holding}:1:1:0`, windowId, tenant.organizationId, tenant.workspaceId],
  );

  await retain();
  expect([await statusOf(tenant, `/runs/${parent}`), await statusOf(tenant, `/runs/${holding}`)]).toEqual([200, 200]);

  await write("update budget_holds set state = 'expired', closed_at = now() where window_id = ?", [windowId]);
  await write("update runs set status = 'cancelled', finish_reason = 'cancelled', finished_at = now() where id = ?", [child]);
  await retain();
  for (const id of [parent, holding, child]) expect(await statusOf(tenant, `/runs/${id}`)).toBe(404);
});

/** A call that left and whose worker was lost; it costs 0.01. */
async function loseCall({ organizationId, workspaceId }: TestTenant, runId: string): Promise<void> {
  const call = {
    ...{ attempt: 1, messageId: newId(), model: 'm', provider: 'p', isFree: false, inputTokens: 1_000, currency: 'USD' },
    ...{ reservedAt: new Date().toISOString(), prices: [{ id: newId(), bucket: 'call', price: '0.01' }] },
  };
  await write(
    `insert into run_steps (id, organization_id, workspace_id, run_id, step, kind, name, status, in_flight) values (?, ?, ?, ?, 7, 'model', 'm', 'failed', ?::jsonb)`,
    [newId(), organizationId, workspaceId, runId, JSON.stringify(call)],
  );
}
const lostCosts = (tenant: TestTenant) =>
  query<{ run_id: string; cost: string; estimated: boolean }>(
    'select run_id, trim_scale(cost)::text as cost, estimated from usage_entries where organization_id = ? and step = 7 order by run_id',
    [tenant.organizationId],
  );

test('calls of lost workers are settled before their runs go, each once, while a late bill of one of them waits for nobody', async () => {
  const { tenant, ended } = await scene();
  await write(
    `insert into budgets (id, organization_id, workspace_id, period, period_start, limit_amount, currency, is_enforced) values (?, ?, ?, 'month', '2020-01-01', null, 'USD', false)`,
    [newId(), tenant.organizationId, tenant.workspaceId],
  );
  const ids = [await ended(50), await ended(40), await ended(35)];
  await sweep(world.api.db, (em) => rollWindows(em, tenant.workspaceId, 'USD'));
  for (const id of ids) await loseCall(tenant, id);
  const late = { runId: ids[1] ?? '', step: 7, attempt: 1 };

  const { retained } = await inWorkspace(world.api.db, tenant, async (tx) => {
    await lockRunWithAncestors(tx, late.runId);
    const begun = retain();
    const waiting = 'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))';
    await until(async () => (await rows(tx.em, waiting)).length > 0);
    await settleLostCall(tx, late);
    return { retained: begun };
  });
  await retained;

  expect(await lostCosts(tenant)).toEqual(ids.toSorted().map((id) => ({ run_id: id, cost: '0.01', estimated: true })));
  for (const id of ids) expect(await statusOf(tenant, `/runs/${id}`)).toBe(404);
  // Each of the three has cost 1 before.
  expect(await query('select trim_scale(spent)::text as spent from budget_windows where workspace_id = ?', [tenant.workspaceId])).toEqual([
    { spent: '3.03' },
  ]);
});

test('calls in flight in an organization that is purged are settled before its rows go; one that can not be keeps none of the others from it', async () => {
  const { tenant, ended } = await scene(null);
  const ids = [await ended(1), await ended(1), await ended(1)];
  for (const id of ids) await loseCall(tenant, id);
  await write(`update run_steps set in_flight = '{"attempt": 1, "reservedAt": "2026-01-01T00:00:00Z", "prices": 5}' where run_id = ?`, [
    ids[1],
  ]);

  for (let times = 0; times < 2; times += 1)
    await settleLostIn({ db: world.api.db, dispatch: world.api.deps.dispatch, log: silent }, tenant.organizationId);

  const settled = [ids[0] ?? '', ids[2] ?? ''].toSorted();
  expect(await lostCosts(tenant)).toEqual(settled.map((id) => ({ run_id: id, cost: '0.01', estimated: true })));
});

test('more old runs than a transaction takes all go, also where one can not', async () => {
  const { tenant, ended, live } = await scene();
  const ids: string[] = [];
  for (let n = 0; n < 23; n++) ids.push(await ended(60 - n / 100));
  const [first = ''] = ids;
  const child = await live();
  await write('update runs set parent_run_id = ?, root_run_id = ?, lineage = array[?::uuid] where id = ?', [first, first, first, child]);

  await retain();

  expect(await query('select id from runs where organization_id = ? and deleted_at is null order by id', [tenant.organizationId])).toEqual(
    [first, child].toSorted().map((id) => ({ id })),
  );
});

test('notices that were sent or given up go after their days, those under way stay', async () => {
  const { tenant } = await scene();
  const place = [tenant.organizationId, tenant.workspaceId];
  const [ruleId, open] = [newId(), newId()];
  await write(
    `insert into alert_rules (id, organization_id, workspace_id, name, kind, operator, threshold) values (?, ?, ?, 'Spend', 'spend', 'gt', 1)`,
    [ruleId, ...place],
  );
  await write(
    `insert into alerts (id, organization_id, workspace_id, rule_id, fingerprint, window_key, status, severity, title, opened_at, last_seen_at)
     values (?, ?, ?, ?, 'f', 'w', 'firing', 'critical', 'Spend', now(), now())`,
    [open, ...place, ruleId],
  );
  let seq = 0;
  const notice = (alertId: string, status: string, days: number) =>
    write(
      `insert into alert_deliveries (id, organization_id, workspace_id, rule_id, alert_id, seq, event, target_key, target, snapshot, status, created_at)
       values (?, ?, ?, ?, ?, ?, 'firing', 'user:1', '{}', '{}', ?, now() - make_interval(days => ?::int))`,
      [newId(), ...place, ruleId, alertId, ++seq, status, days],
    );
  await notice(open, 'sent', 8);
  await notice(open, 'dead', 8);
  await notice(open, 'failed', 8);
  await notice(open, 'sent', 6);

  await retain();

  expect(await query('select alert_id, status from alert_deliveries where rule_id = ? order by seq', [ruleId])).toEqual([
    { alert_id: open, status: 'failed' },
    { alert_id: open, status: 'sent' },
  ]);
});
