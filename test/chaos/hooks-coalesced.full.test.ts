import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import type { ProcessName } from '../support/deployment.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { deliveriesOf, makeEndpoint, runsOf, send, sign, sqlOn, type HookEndpoint, type SignedBody } from '../workflows/hook-world.ts';
import { isWholeMatrix, oneOfEach } from './whole.ts';

const deliveries = isWholeMatrix ? 1_000 : 150;
const atOnce = 8;
const agents: { id: string }[] = [];
let models: ModelServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'api-2', 'worker-runs'], modelBaseUrl: models.baseUrl });
  agents.push(await makeAgent(stack, []));
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const modes = [
  ['debounce', { window_seconds: 5, max_wait_seconds: 3_600 }],
  ['throttle', { window_seconds: 20 }],
  ['batch', { window_seconds: 10, max_batch: 100 }],
] as const;

/** Sends all, a few at once, to two processes in turn; whoever gets no answer sends again. */
async function sendAll(endpoint: HookEndpoint, bodies: readonly SignedBody[]): Promise<void> {
  const left = [...bodies.entries()];
  const insist = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [n, body] = next;
      const name: ProcessName = n % 2 === 0 ? 'api' : 'api-2';
      await until(async () => (await send(stack, endpoint, body, name))?.status === 202);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, insist));
}

/** Of each workflow that closed groups of the endpoint: its events, and the signals among them. */
async function historiesOf(endpoint: HookEndpoint): Promise<{ readonly events: number; readonly signals: number }[]> {
  const { workflow } = stack.temporal.client;
  const found = [];
  for await (const { workflowId, runId } of workflow.list({ query: `WorkflowId STARTS_WITH 'hook:${endpoint.id}:'` })) {
    const events = (await workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
    const signals = events.filter(({ workflowExecutionSignaledEventAttributes: signal }) => Boolean(signal));
    found.push({ events: events.length, signals: signals.length });
  }
  return found;
}

/** Seconds in which the endpoint received something. */
async function secondsOf(endpoint: HookEndpoint): Promise<number> {
  const sql = "select count(distinct date_trunc('second', received_at))::int as n from webhook_deliveries where endpoint_id = ?";
  return (await sqlOn(stack)<{ n: number }>(sql, [endpoint.id]))[0]?.n ?? 0;
}

test.each(oneOfEach(modes, () => 'mode'))(
  '%s: many deliveries of one key, API and worker killed midway: each is in one run, for a signal a second at most',
  async (mode, window) => {
    const endpoint = await makeEndpoint(stack, agents[0]?.id ?? '', {
      coalescing: { mode, ...window },
      prompt_template: 'Say something about {{ body.n }}.',
    });
    const bodies = Array.from({ length: deliveries }, (_, n) => sign(endpoint, { n }, `msg_${n}`));

    const sending = sendAll(endpoint, bodies);
    await until(async () => (await deliveriesOf(stack, endpoint)).length > deliveries / 3);
    await stack.kill('worker-runs');
    await stack.kill('api');
    await Promise.all([stack.start('api'), stack.start('worker-runs')]);
    await sending;
    await until(async () => (await deliveriesOf(stack, endpoint)).every(({ status }) => status !== 'coalescing'));

    const rows = await deliveriesOf(stack, endpoint);
    const runs = await runsOf(stack, endpoint);
    const statuses = new Set(rows.map(({ status }) => status));
    expect(rows).toHaveLength(deliveries);
    expect([...statuses].every((status) => status === 'started' || status === 'merged')).toBe(true);
    // Each run has one delivery whose data it has, and each delivery a run that is there.
    expect(
      rows
        .filter(({ status }) => status === 'started')
        .map((row) => row.run_id)
        .toSorted(),
    ).toEqual(runs.map(({ id }) => id).toSorted());
    expect(new Set(rows.map((row) => row.run_id)).size).toBe(runs.length);
    const histories = await historiesOf(endpoint);
    expect(histories.length).toBeGreaterThan(0);
    expect(Math.max(...histories.map(({ events }) => events))).toBeLessThanOrEqual(2_000);
    // One a second; what the killed process had sent, and could not note, is sent again.
    expect(histories.reduce((sum, { signals }) => sum + signals, 0)).toBeLessThanOrEqual(2 * (await secondsOf(endpoint)));
    if (mode === 'batch')
      expect(Math.max(...runs.map(({ id }) => rows.filter((row) => row.run_id === id).length))).toBeLessThanOrEqual(100);
  },
);
