import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ReconcileReport } from '../../workflows/contracts/upkeep/maintenance.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { makeAgent } from '../api/world.ts';
import { valueOf } from '../support/metrics.ts';
import { patienceMs, until } from '../support/temporal.ts';
import { startAgentRun } from '../support/worker.ts';
import { openOutboxWorld, type OutboxWorld } from './outbox-world.ts';

const nothing: ReconcileReport = { examined: 0, started: 0, finished: 0, terminated: 0, activated: 0 };
let outbox: OutboxWorld;
let token: string;
let agentId: string;

beforeAll(async () => {
  outbox = await openOutboxWorld();
  const { tokens } = await outbox.world.tenant();

  token = tokens.admin;
  agentId = (await makeAgent(outbox.world, token)).id;
});

afterAll(() => outbox.close());

const startedSoFar = () => valueOf(outbox.metrics.all, 'longhaul_reconciler_repairs_total', { kind: 'started' });

test('a silent queued run without a workflow is started, and a second pass adds no work', async () => {
  const runId = await start();
  expect(await pass()).toEqual(nothing);
  await outbox.age(runId, '40 s');

  const before = await startedSoFar();
  const first = await pass();
  const second = await pass();

  expect(first).toEqual({ ...nothing, examined: 1, started: 1 });
  expect((await startedSoFar()) - before).toBe(1);
  expect(await outbox.isOpen(workflowIds.run(runId))).toBe(true);
  expect(second).toEqual(nothing);
});

test('a running run whose workflow was ended from outside fails as workflow_closed, and the line moves', async () => {
  const runId = await start('line');
  const next = await start('line');
  await startAgentRun(outbox.place, runId);
  await begin(runId);
  await outbox.place.temporal.client.workflow.getHandle(workflowIds.run(runId)).terminate();
  await outbox.age(runId, '40 s');

  const report = await pass();
  const { body } = await outbox.world.call(token, 'GET', `/runs/${runId}`);

  expect(report).toMatchObject({ finished: 1, started: 0 });
  expect(body).toMatchObject({ status: 'failed', finish_reason: 'error', error: { code: 'internal_error', reason: 'workflow_closed' } });
  await until(() => outbox.isOpen(workflowIds.run(next)));
});

test('a workflow that closed badly is noticed before its run was silent for long', async () => {
  const runId = await start();
  await startAgentRun(outbox.place, runId);
  await begin(runId);
  await outbox.place.temporal.client.workflow.getHandle(workflowIds.run(runId)).terminate();

  await until(async () => (await pass()).finished === 1);

  expect(await outbox.runStatus(runId)).toBe('failed');
});

test('a run with an open workflow is left alone however silent, and one that waits has ten minutes', async () => {
  const open = await start();
  const waiting = await start();
  await startAgentRun(outbox.place, open);
  await begin(open);
  await begin(waiting);
  await outbox.admin(`update runs set status = 'waiting', waiting_on = 'input', waiting_until = now() + interval '1 day' where id = $1`, [
    waiting,
  ]);
  await outbox.age(open, '9 min');
  await outbox.age(waiting, '9 min');

  expect(await pass()).toEqual({ ...nothing, examined: 1 });
  expect([await outbox.runStatus(open), await outbox.runStatus(waiting)]).toEqual(['running', 'waiting']);
});

test('a workflow still open a minute after its run ended is terminated', async () => {
  const runId = await start();
  await startAgentRun(outbox.place, runId);
  expect((await outbox.world.call(token, 'POST', `/runs/${runId}/cancel`, { body: {} })).body.status).toBe('cancelled');
  await outbox.age(runId, '40 s');
  expect((await pass()).terminated).toBe(0);
  await outbox.age(runId, '70 s');

  await until(async () => (await pass()).terminated === 1);

  expect(await outbox.isOpen(workflowIds.run(runId))).toBe(false);
});

test('a free conversation with a line is set going', async () => {
  const first = await start('stuck');
  const second = await start('stuck');
  await outbox.admin(`update runs set status = 'failed', finish_reason = 'error', finished_at = now() where id = $1`, [first]);
  await outbox.admin('update conversations set active_run_id = null where active_run_id = $1', [first]);

  expect((await pass()).activated).toBe(1);
  await until(() => outbox.isOpen(workflowIds.run(second)));
});

test('a run past its time ends as timeout though its workflow hangs', async () => {
  const runId = await start();
  await startAgentRun(outbox.place, runId);
  await begin(runId);
  await outbox.admin(`update runs set started_at = now() - interval '2 hours' where id = $1`, [runId]);

  await pass();
  const { body } = await outbox.world.call(token, 'GET', `/runs/${runId}`);

  expect(body).toMatchObject({ status: 'failed', finish_reason: 'timeout' });
});

function pass(): Promise<ReconcileReport> {
  return outbox.reconciler.pass(AbortSignal.timeout(patienceMs));
}

/** As beginRun leaves the row, for runs that no worker of this test begins. */
async function begin(runId: string): Promise<void> {
  await outbox.admin(`update runs set status = 'running', started_at = now() where id = $1`, [runId]);
}

async function start(sessionKey?: string): Promise<string> {
  const { status, body } = await outbox.world.call(token, 'POST', '/runs', {
    body: { agent_id: agentId, input: { text: 'Hi' }, ...(sessionKey ? { session_key: sessionKey } : {}) },
  });

  if (status !== 202) throw new Error(`createRun: ${status} ${JSON.stringify(body)}`);
  return body.id;
}
