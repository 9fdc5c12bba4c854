import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { newId } from '../../db/ids.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { holdStatements } from '../support/held-statements.ts';
import { deliveriesOf, makeEndpoint, runsOf, send, sign, sqlOn, type HookEndpoint } from './hook-world.ts';

let models: ModelServer;
let stack: Stack;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs', 'worker-bulk'], modelBaseUrl: models.baseUrl });
  agentId = (await makeAgent(stack, [])).id;
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const statusesOf = async (endpoint: HookEndpoint) => (await deliveriesOf(stack, endpoint)).map(({ status }) => status);
const closed = (endpoint: HookEndpoint, count: number) =>
  until(async () => {
    const statuses = await statusesOf(endpoint);
    return statuses.length === count && !statuses.includes('coalescing');
  });
const keyOf = (text: string) => createHash('sha256').update(text).digest('hex');
const deliver = async (endpoint: HookEndpoint, ...values: readonly unknown[]) => {
  for (const value of values) expect(await send(stack, endpoint, sign(endpoint, value))).toMatchObject({ status: 202 });
};

test('debounce: one run with the data of the last by its own time; all of the group name it', async () => {
  const coalescing = { mode: 'debounce', window_seconds: 10, key_template: '{{ body.key }}', event_time_path: '/at' };
  const endpoint = await makeEndpoint(stack, agentId, { coalescing });

  await deliver(endpoint, { key: 'a', text: 'second', at: 200 }, { key: 'a', text: 'third', at: 300 }, { key: 'b', text: 'other', at: 1 });
  await deliver(endpoint, { key: 'a', text: 'first', at: 100 });
  await closed(endpoint, 4);

  const [second, third, other, first] = await deliveriesOf(stack, endpoint);
  const runs = await runsOf(stack, endpoint);
  expect(runs.map(({ input }) => input.text).toSorted()).toEqual(['other', 'third']);
  expect([second, third, other, first].map((row) => row?.status)).toEqual(['merged', 'started', 'started', 'merged']);
  expect(new Set([second, third, first].map((row) => `${row?.run_id} ${row?.group_id}`)).size).toBe(1);
  expect(other?.run_id).not.toBe(third?.run_id);
});

test('batch: a full group is closed before its window is over, with the data of all; the rest stays', async () => {
  const coalescing = { mode: 'batch', window_seconds: 3_600, max_batch: 3, payload: 'all' };
  const endpoint = await makeEndpoint(stack, agentId, {
    coalescing,
    prompt_template: '{% for item in items %}{{ item.body.n }} {% endfor %}of {{ body.n }}',
  });

  await deliver(endpoint, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 });
  await until(async () => (await runsOf(stack, endpoint)).length === 1);

  expect((await runsOf(stack, endpoint)).map(({ input }) => input.text)).toEqual(['1 2 3 of 3']);
  expect(await statusesOf(endpoint)).toEqual(['started', 'started', 'started', 'coalescing']);
});

test('throttle: the first starts at once, the rest of the window is one run at its end', async () => {
  const endpoint = await makeEndpoint(stack, agentId, { coalescing: { mode: 'throttle', window_seconds: 15, payload: 'first' } });

  await deliver(endpoint, { text: 'at once' }, { text: 'first of the rest' }, { text: 'last' });
  const before = await statusesOf(endpoint);
  await closed(endpoint, 3);

  expect(before).toEqual(['started', 'coalescing', 'coalescing']);
  expect((await runsOf(stack, endpoint)).map(({ input }) => input.text)).toEqual(['at once', 'first of the rest']);
  expect(await statusesOf(endpoint)).toEqual(['started', 'started', 'merged']);
});

test('a group whose run can not be started fails with the reason, and keeps no key', async () => {
  const endpoint = await makeEndpoint(stack, agentId, {
    coalescing: { mode: 'debounce', window_seconds: 1 },
    subject_template: { kind: 'user', id: '{{ body.user }}' },
  });
  const sent = sign(endpoint, { text: 'Hello', user: 'nobody' });

  await send(stack, endpoint, sent);
  await closed(endpoint, 1);
  const again = await send(stack, endpoint, sent);

  const [failed] = await deliveriesOf(stack, endpoint);
  expect(failed).toMatchObject({ status: 'failed', run_id: null, error_reason: 'subject_unknown' });
  expect(again?.body).toMatchObject({ deduplicated: false, coalesced: true });
  expect(await runsOf(stack, endpoint)).toEqual([]);
});

test('an agent that was deleted meanwhile starts nothing', async () => {
  const other = await makeAgent(stack, []);
  const endpoint = await makeEndpoint(stack, other.id, { coalescing: { mode: 'debounce', window_seconds: 10 } });

  await deliver(endpoint, { text: 'Hello' });
  await stack.request('DELETE', `/agents/${other.id}?force=true`);
  await closed(endpoint, 1);

  expect([await statusesOf(endpoint), await runsOf(stack, endpoint)]).toEqual([['failed'], []]);
});

test('a worker that is killed between the group and its run: the next one goes on with the same group, and starts one run', async () => {
  const endpoint = await makeEndpoint(stack, agentId, { coalescing: { mode: 'batch', window_seconds: 3_600, max_batch: 2 } });
  const when = `new.endpoint_id = '${endpoint.id}' and new.run_id is not null`;
  const held = await holdStatements(stack.adminUrl, { table: 'webhook_deliveries', event: 'update', when });

  await deliver(endpoint, { text: 'first' }, { text: 'last' });
  await held.reached();
  const taken = (await deliveriesOf(stack, endpoint)).map((row) => row.group_id);
  await stack.kill('worker-runs');
  await held.letGo();
  await stack.start('worker-runs');
  await closed(endpoint, 2);

  const rows = await deliveriesOf(stack, endpoint);
  expect(rows.map(({ status }) => status)).toEqual(['merged', 'started']);
  expect(new Set(taken)).toEqual(new Set(rows.map((row) => row.group_id)));
  expect(taken[0]).not.toBeNull();
  expect(await runsOf(stack, endpoint)).toHaveLength(1);
});

test('the signal of a delivery leaves when its row is there, however long the process was frozen between its receipt and its row', async () => {
  const endpoint = await makeEndpoint(stack, agentId, { coalescing: { mode: 'batch', window_seconds: 3_600 } });
  const held = await holdStatements(stack.adminUrl, { table: 'delivery_keys', event: 'insert' });
  const sql = sqlOn(stack);

  const delivered = deliver(endpoint, { text: 'Hello' });
  await held.reached();
  const [{ at } = { at: '' }] = await sql<{ at: string }>("select clock_timestamp() + interval '2 seconds' as at", []);
  await until(async () => (await sql('select where clock_timestamp() > ?::timestamptz', [at])).length > 0);
  await held.letGo();
  await delivered;

  const target = workflowIds.hook(endpoint.id, keyOf(''));
  const [signal] = await sql<{ late: boolean }>('select not_before > ?::timestamptz as late from outbox where target = ?', [at, target]);
  expect(signal).toEqual({ late: true });
});

test('a group whose workflow was lost is woken by the reconciler', async () => {
  const endpoint = await makeEndpoint(stack, agentId, { coalescing: { mode: 'batch', window_seconds: 3_600 } });
  await deliver(endpoint, { text: 'Hello' });
  const workflow = stack.temporal.client.workflow.getHandle(workflowIds.hook(endpoint.id, keyOf('')));
  await until(() =>
    workflow.terminate('a test').then(
      () => true,
      () => false,
    ),
  );
  const age = "update webhook_deliveries set received_at = received_at - interval '2 hours' where endpoint_id = ?";
  await sqlOn(stack)(age, [endpoint.id]);

  await stack.temporal.client.workflow.execute('reconcile', { workflowId: `test:${newId()}`, taskQueue: 'runs' });
  await closed(endpoint, 1);

  expect((await runsOf(stack, endpoint)).map(({ input }) => input.text)).toEqual(['Hello']);
});
