import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { newId } from '../../db/ids.ts';
import { taskQueues } from '../../workflows/contracts/queues.ts';
import { startReceiver, type Receiver } from '../alerts/delivery-world.ts';
import { created, makeAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { makeSchedule, occurrencesOf, scheduleRow } from './schedule-world.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
let receiver: Receiver;
let stack: Stack;

beforeAll(async () => {
  receiver = await startReceiver();
  stack = await startStack({ processes: ['api', 'worker-runs', 'worker-bulk'], egressPorts: [receiver.port] });
});
afterAll(async () => {
  await stack?.stop();
  receiver?.close();
});

interface Notice {
  readonly type: string;
  readonly data: { readonly labels: Readonly<Record<string, string>>; readonly value: string };
}

async function tick(): Promise<void> {
  const workflowId = `alert-tick-${newId()}`;
  await stack.temporal.client.workflow.execute('alertTick', { workflowId, taskQueue: taskQueues.runs, args: [] });
}

test('an instant that comes while no worker is there is an occurrence, an event and an alert, each once', async () => {
  const put = { value: secret, scope: 'workspace', workspace_id: stack.tenant.workspaceId };
  await stack.request('PUT', '/secrets/missed', { body: put });
  const agent = await makeAgent(stack, []);
  const target = { kind: 'webhook', url: `http://127.0.0.1:${receiver.port}/missed`, secret_name: 'missed' };
  const made = { name: 'Missed', kind: 'schedule_missed', operator: 'gte', threshold: '1', group_by: 'agent', targets: [target] };
  await created(stack, '/alert-rules', made);
  await tick();

  // Before the schedule is there: how long it takes to be made and synced must not decide whether a worker sees its instant.
  await stack.kill('worker-runs');
  const runAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 6_000);
  const times = { run_at: runAt.toISOString(), catch_up_seconds: 10 };
  const { id } = await created(stack, '/schedules', { agent_id: agent.id, name: 'Missed', prompt_template: 'Never.', ...times });
  await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');
  await until(() => Date.now() > runAt.getTime() + 11_000);
  await stack.start('worker-runs');
  await until(async () => (await occurrencesOf(stack.db, id)).length > 0);
  await tick();
  await tick();
  await until(() => receiver.received.length > 0);

  const [occurrence, ...others] = await occurrencesOf(stack.db, id);
  const { body: events } = await stack.request('GET', '/events?event_kind=schedule.missed');
  const sent = receiver.received.map(({ body, headers }) => new Webhook(secret).verify(body, headers as Record<string, string>) as Notice);
  expect([occurrence?.status, occurrence?.run_id, others]).toEqual(['missed', null, []]);
  expect((events as { items: object[] }).items).toMatchObject([
    { source: 'platform', payload: { schedule_id: id, occurrence_id: occurrence?.id }, fan_out: expect.anything() },
  ]);
  expect(sent).toMatchObject([{ type: 'alert.firing', data: { value: expect.stringMatching(/^1(\.0+)?$/) } }]);
  expect(JSON.stringify(sent[0]?.data)).toContain(agent.id);
});

test('a schedule that Temporal hears of behind its first instant is caught up with, once', async () => {
  const agent = await makeAgent(stack, []);
  await stack.kill('worker-bulk');
  const runAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 3_000);
  const made = { agent_id: agent.id, name: 'Late', prompt_template: 'It is time.', run_at: runAt.toISOString(), catch_up_seconds: 3_600 };
  const { id } = await created(stack, '/schedules', made);
  const paused = (await created(stack, '/schedules', { ...made, is_active: false })).id;
  await until(() => Date.now() > runAt.getTime() + 1_000);

  await stack.start('worker-bulk');
  await until(async () => (await occurrencesOf(stack.db, id)).length > 0);
  // Sent anew, it strikes again, and the instant has been claimed.
  await stack.request('PATCH', `/schedules/${id}`, { body: { name: 'Changed' } });
  await stack.request('PATCH', `/schedules/${paused}`, { body: { name: 'Changed' } });
  for (const one of [id, paused]) await until(async () => (await scheduleRow(stack.db, one))['sync_state'] === 'synced');

  const [occurrence, ...others] = await occurrencesOf(stack.db, id);
  expect([occurrence?.run_id === null, occurrence?.nominal_at, others]).toEqual([false, expect.anything(), []]);
  expect(Date.parse(occurrence?.nominal_at ?? '')).toBe(runAt.getTime());
  expect(await occurrencesOf(stack.db, paused)).toEqual([]);
});

test('instants that come while Temporal is being told of their schedules are neither lost nor doubled', async () => {
  const { id: agentId } = await makeAgent(stack, []);
  const { organizationId, workspaceId } = stack.tenant;
  // Starts no run: what was rendered is empty.
  const made = { agentId, promptTemplate: '{% if now == "x" %}never{% endif %}' };
  const ids = await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      makeSchedule(stack.db, { organizationId, workspaceId }, { ...made, runAt: new Date(Date.now() + 1_000 + 100 * at) }),
    ),
  );

  for (const id of ids) await until(async () => (await occurrencesOf(stack.db, id)).length > 0);
  for (const id of ids) await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');
  for (const id of ids) expect(await occurrencesOf(stack.db, id)).toMatchObject([{ status: 'failed', run_id: null }]);
});
