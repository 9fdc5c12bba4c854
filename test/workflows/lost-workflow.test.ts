import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { readRestartPoint } from '../../db/runs/start/restart-run.ts';
import { sweep } from '../../db/transaction.ts';
import { startRelay } from '../../temporal/relay.ts';
import type { ReconcileReport } from '../../workflows/contracts/upkeep/maintenance.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { makeAsked, openTreeWorld, type TreeWorld } from '../sub-agents/tree.ts';
import { patienceMs, until } from '../support/temporal.ts';
import { silent, startAgentRun } from '../support/worker.ts';
import { openOutboxWorld, type OutboxWorld } from './outbox-world.ts';
import { maxRestarts } from '../../domain/runs/reconcile.ts';

const nothing: ReconcileReport = { examined: 0, started: 0, finished: 0, terminated: 0, activated: 0 };
let outbox: OutboxWorld;
let tree: TreeWorld;

beforeAll(async () => {
  outbox = await openOutboxWorld();
  tree = await openTreeWorld(outbox.world);
});

afterAll(() => outbox.close());

const pass = () => outbox.reconciler.pass(AbortSignal.timeout(patienceMs));
const isOpen = (runId: string) => outbox.isOpen(workflowIds.run(runId));
const begun = async () => tree.begin((await makeAsked(tree)).id);
const restartsOf = async (runId: string) =>
  (await outbox.admin('select workflow_restarts as n from runs where id = $1', [runId]))[0]?.['n'];
const pointOf = (runId: string) => sweep(outbox.world.api.db, (em) => readRestartPoint(em, runId));

/** What a new workflow of the run was told. */
async function inputOf(runId: string): Promise<unknown> {
  const { events } = await outbox.place.temporal.client.workflow.getHandle(workflowIds.run(runId)).fetchHistory();
  const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  return JSON.parse(Buffer.from(payload?.data ?? []).toString());
}

test('a running run whose workflow is missing goes on in a new one, at its last step, and a second pass adds no work', async () => {
  const agent = await makeAsked(tree);
  const runId = await tree.begin(agent.id);
  await tree.ask(runId, [{ slug: 'gone', args: {} }]);
  await outbox.admin(`update tool_calls set state = 'succeeded', finished_at = now() where run_id = $1`, [runId]);
  await tree.ask(runId, [{ slug: 'gone', args: {} }]);
  await outbox.age(runId, '40 s');

  const first = await pass();
  await outbox.age(runId, '40 s');
  const second = await pass();

  expect(first).toEqual({ ...nothing, examined: 1, started: 1 });
  expect(second).toEqual({ ...nothing, examined: 1 });
  expect([await isOpen(runId), await outbox.runStatus(runId), await restartsOf(runId)]).toEqual([true, 'running', 1]);
  expect(await inputOf(runId)).toEqual({ runId, step: 2 });
  await end(runId);
});

test.each([
  [
    'a call within its time',
    `update tool_calls set state = 'executing', attempt = 1, deadline_at = now() + interval '1 hour' where run_id = $1`,
  ],
  ['a model that speaks', `update run_steps set status = 'running', started_at = now() + interval '1 hour' where run_id = $1`],
])('a try that may still be at work is waited for: %s', async (_what, change) => {
  const runId = await begun();
  await tree.ask(runId, [{ slug: 'slow', args: {} }]);
  await outbox.admin(change, [runId]);
  await outbox.age(runId, '40 s');

  expect(await pass()).toEqual({ ...nothing, examined: 1 });
  expect([await isOpen(runId), await restartsOf(runId)]).toEqual([false, 0]);

  await outbox.admin(`update tool_calls set deadline_at = now() - interval '11 s' where run_id = $1`, [runId]);
  await outbox.admin(`update run_steps set started_at = now() - interval '31 s' where run_id = $1`, [runId]);
  await outbox.age(runId, '40 s');
  expect(await pass()).toMatchObject({ started: 1 });
  await end(runId);
});

test(`a run that has lost its workflow ${maxRestarts} times ends with the next`, async () => {
  const runId = await begun();
  await outbox.admin('update runs set workflow_restarts = $2 where id = $1', [runId, maxRestarts]);
  await outbox.age(runId, '40 s');

  expect(await pass()).toEqual({ ...nothing, examined: 1, finished: 1 });
  const { body } = await outbox.world.call(tree.tenant.tokens.admin, 'GET', `/runs/${runId}`);
  expect(body).toMatchObject({ status: 'failed', error: { reason: 'workflow_closed' } });
});

test('a cancelling run without a workflow ends cancelled', async () => {
  const runId = await begun();
  await outbox.admin(`update runs set status = 'cancelling', cancel_policy = 'interrupt' where id = $1`, [runId]);
  await outbox.age(runId, '40 s');

  expect(await pass()).toEqual({ ...nothing, examined: 1, finished: 1 });
  expect(await outbox.runStatus(runId)).toBe('cancelled');
});

test('an answer whose signal finds no workflow starts a new one at once; where it was ended by hand, nothing', async () => {
  const [lost, closed] = [await waiting(), await waiting()];
  await startAgentRun(outbox.place, closed);
  await outbox.place.temporal.client.workflow.getHandle(workflowIds.run(closed)).terminate();
  const relay = startRelay({ temporal: outbox.place.temporal, db: outbox.world.api.db, log: silent });

  for (const runId of [closed, lost]) await signal(runId);
  await until(() => isOpen(lost));
  await until(async () => (await outbox.admin(`select from outbox where kind = 'workflow.signal' and sent_at is null`)).length === 0);
  await until(async () => (await restartsOf(lost)) === 1); // counted after the start
  await relay.stop();

  expect([await restartsOf(lost), await restartsOf(closed)]).toEqual([1, 0]);
  expect(await outbox.admin(`select from runs where id = $1 and reconciled_at = 'epoch'`, [closed])).toHaveLength(1);
  await pass();
  expect([await outbox.runStatus(lost), await outbox.runStatus(closed)]).toEqual(['waiting', 'failed']);
  await end(lost);
});

test('of a tree whose workflows are missing only the topmost is started; it starts those below where they stand', async () => {
  const leaf = await makeAsked(tree);
  const top = await makeAsked(tree, { sub_agents: [{ id: leaf.id }] });
  const parent = await tree.begin(top.id);
  const [callId = ''] = await tree.ask(parent, [{ slug: leaf.ask, args: { task: 'Go.' } }]);
  const child = await tree.openAndBegin(parent, callId);
  for (const _ of [1, 2]) {
    await tree.ask(child, [{ slug: 'gone', args: {} }]);
    await outbox.admin(`update tool_calls set state = 'succeeded', finished_at = now() where run_id = $1`, [child]);
  }
  await outbox.age(child, '40 s');

  expect(await pass()).toMatchObject({ started: 1, finished: 0 });

  expect([await isOpen(parent), await isOpen(child)]).toEqual([true, false]);
  expect([await restartsOf(parent), await restartsOf(child)]).toEqual([1, 0]);
  expect(await tree.open(parent, callId)).toMatchObject({ kind: 'child', child: { runId: child }, from: { step: 2 } });
  await end(parent);
});

test('a wait of the run itself is taken up again: a pause that was asked for, and a budget that is full', async () => {
  const [timer, budget, plain] = [await waiting(), await waiting(), await begun()];
  await outbox.admin(`update runs set waiting_on = 'timer', waiting_until = '2031-01-01T00:00:00Z' where id = $1`, [timer]);
  await outbox.admin(
    `insert into approvals (id, organization_id, workspace_id, run_id, root_run_id, agent_id, reason, status, prompt, args, decisions, critical, approver_floor, expires_at, on_expiry, round)
     select gen_random_uuid(), organization_id, workspace_id, id, root_run_id, agent_id, 'budget', 'pending', 'May it?', '{"step": 1, "period": "month", "needed": "0.25"}',
            '{approve,reject}', false, 'admin', now() + interval '1 day', 'deny', 1 from runs where id = $1`,
    [budget],
  );

  expect(await pointOf(timer)).toEqual({ wait: { on: 'timer', untilMs: Date.UTC(2031, 0, 1) } });
  expect(await pointOf(budget)).toEqual({ wait: { on: 'budget', fullAt: 'month', needed: '0.25' } });
  expect(await pointOf(plain)).toEqual({});
});

test('a mail whose delivery says nothing for ten minutes is sent to Temporal again, for a day', async () => {
  const ids = { lost: newId(), settled: newId(), old: newId() };
  for (const id of Object.values(ids))
    await outbox.admin(
      `insert into outbox (id, kind, dedupe_key, target, payload, not_before, created_at, sent_at)
       values ($1, 'mail', $2, $2, $3::jsonb, now(), now() - interval '1 hour', now() - interval '11 minutes')`,
      [id, workflowIds.delivery(id), JSON.stringify({ kind: 'mail', workflowId: workflowIds.delivery(id), correlationId: newId() })],
    );
  await outbox.admin(`update outbox set payload = payload || '{"settled": "sent"}' where id = $1`, [ids.settled]);
  await outbox.admin(`update outbox set created_at = now() - interval '26 hours' where id = $1`, [ids.old]);

  await pass();

  const unsent = await outbox.admin(`select id from outbox where kind = 'mail' and sent_at is null`);
  expect(unsent).toEqual([{ id: ids.lost }]);
});

/** A begun run that waits, as its gates leave the row. */
async function waiting(): Promise<string> {
  const runId = await begun();
  await outbox.admin(
    `update runs set status = 'waiting', waiting_on = 'input', waiting_until = now() + interval '1 day', waiting_since = now() where id = $1`,
    [runId],
  );
  return runId;
}

/** What an answer leaves in the outbox, five seconds ago. */
async function signal(runId: string): Promise<void> {
  const message = { kind: 'workflow.signal', workflowId: workflowIds.run(runId), signal: 'approvalDecided' };
  await outbox.admin(
    `insert into outbox (id, kind, dedupe_key, target, payload, not_before, created_at) values ($1, $2, $3, $4, $5::jsonb, now(), now() - interval '5 s')`,
    [newId(), message.kind, `test:${newId()}`, message.workflowId, JSON.stringify(message)],
  );
}

/** So that no later pass finds it. */
async function end(runId: string): Promise<void> {
  await outbox.admin(
    `update runs set status = 'failed', finish_reason = 'error', finished_at = now(), waiting_on = null, waiting_until = null where root_run_id = $1`,
    [runId],
  );
}
