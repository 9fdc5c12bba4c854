import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { answer, startReceiver, type Receiver } from '../alerts/delivery-world.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { makeEndpoint, send, sign, sqlOn, type HookEndpoint } from './hook-world.ts';

let models: ModelServer;
let receiver: Receiver;
let stack: Stack;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  receiver = await startReceiver();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, egressPorts: [receiver.port] });
  agentId = (await makeAgent(stack, [])).id;
});
afterAll(async () => {
  await stack?.stop();
  receiver?.close();
  await models?.close();
});
beforeEach(() => {
  receiver.answers = [];
  receiver.received.length = 0;
});

interface StoredCallback {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly last_status: number | null;
}

const callback_url = () => `http://127.0.0.1:${receiver.port}/done?token=t0ken`;
const makeCalling = (more: object = {}) =>
  makeEndpoint(stack, agentId, { response_mode: 'callback', callback_url: callback_url(), ...more });
const callbacksOf = ({ id }: HookEndpoint) =>
  sqlOn(stack)<StoredCallback>('select id, status, attempts, last_status from outbound_callbacks where endpoint_id = ? order by id', [id]);
const settled = (endpoint: HookEndpoint, count = 1) =>
  until(async () => {
    const found = await callbacksOf(endpoint);
    return found.length === count && found.every(({ status }) => status !== 'pending');
  });
const deliver = async (endpoint: HookEndpoint, text: string, more: Record<string, string> = {}) => {
  const { payload, headers } = sign(endpoint, { text: scripted({ steps: [{ text }] }) });
  return (await send(stack, endpoint, { payload, headers: { ...headers, ...more } }))?.body;
};

test('the outcome of a run arrives once, signed for a foreign library, one hop further; the delivery shows it', async () => {
  const endpoint = await makeCalling();

  const receipt = await deliver(endpoint, 'All done.', { 'x-longhaul-hops': '3' });
  await settled(endpoint);

  const [got, ...more] = receiver.received;
  const [callback] = await callbacksOf(endpoint);
  const verified = new Webhook(endpoint.secret).verify(got?.body ?? '', (got?.headers ?? {}) as Record<string, string>);
  expect(verified).toEqual({
    type: 'run.finished',
    timestamp: expect.any(String),
    data: {
      run_id: receipt?.run_id,
      delivery_id: receipt?.delivery_id,
      status: 'succeeded',
      output: { text: 'All done.', json: null, attachments: [] },
      error: null,
    },
  });
  expect([more, got?.headers['webhook-id'], got?.headers['x-longhaul-hops']]).toEqual([[], callback?.id, '4']);
  const listed = await stack.request('GET', `/webhook-endpoints/${endpoint.id}/deliveries`);
  expect((listed.body as { items: unknown[] }).items).toMatchObject([
    { status: 'started', callback: { status: 'delivered', attempts: 1, last_status: 200, next_attempt_at: null } },
  ]);
  const history = JSON.stringify(await stack.temporal.client.workflow.getHandle(workflowIds.delivery(callback?.id ?? '')).fetchHistory());
  const payloads = [...history.matchAll(/"data":"([^"]*)"/g)].map(([, data = '']) => Buffer.from(data, 'base64').toString());
  expect(history + payloads.join()).not.toMatch(/t0ken|whsec_|All done/);
});

test('response_path picks the output; what is too long is named by its address; both secrets of a rotation sign', async () => {
  const endpoint = await makeCalling({ response_path: '/output/text' });
  const { body } = await stack.request('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, { body: {} });
  const rotated = { ...endpoint, secret: (body as { secret: string }).secret };

  const short = await deliver(rotated, 'Short.');
  await settled(endpoint);
  const long = await deliver(rotated, 'x'.repeat(70_000));
  await settled(endpoint, 2);

  const bodies = receiver.received.map((got) => JSON.parse(got.body).data);
  expect(bodies[0]).toMatchObject({ run_id: short?.run_id, output: 'Short.' });
  expect(bodies[1]).toMatchObject({
    run_id: long?.run_id,
    output: null,
    truncated: true,
    run_url: expect.stringContaining(`/runs/${long?.run_id}`),
  });
  for (const { secret } of [endpoint, rotated])
    for (const got of receiver.received) new Webhook(secret).verify(got.body, got.headers as Record<string, string>);
});

test('a receiver that fails gets it again after five seconds, under the same id and with the same words', async () => {
  const endpoint = await makeCalling();
  receiver.answers = [answer(404), answer(204)];
  const startedAt = Date.now();

  await deliver(endpoint, 'Again.');
  await settled(endpoint);

  expect(Date.now() - startedAt).toBeGreaterThan(3_900);
  expect(await callbacksOf(endpoint)).toMatchObject([{ status: 'delivered', attempts: 2, last_status: 204 }]);
  expect(new Set(receiver.received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
});

test('410 stops this and later callbacks until an address is set again; a deleted endpoint calls nobody', async () => {
  const endpoint = await makeCalling();
  receiver.answers = [answer(410), answer(200)];

  await deliver(endpoint, 'One.');
  await settled(endpoint);
  await deliver(endpoint, 'Two.');
  await settled(endpoint, 2);
  await stack.request('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { callback_url: callback_url() } });
  await deliver(endpoint, 'Three.');
  await settled(endpoint, 3);

  expect(await callbacksOf(endpoint)).toMatchObject([
    { status: 'stopped', attempts: 1, last_status: 410 },
    { status: 'stopped', attempts: 0 },
    { status: 'delivered', attempts: 1 },
  ]);
  expect(receiver.received).toHaveLength(2);
});

test('a run that fails, and one that is cancelled, say so; a group is called back once', async () => {
  const failing = await makeCalling();
  const grouped = await makeCalling({ coalescing: { mode: 'debounce', window_seconds: 2 } });
  const faulty = sign(failing, {
    text: scripted({ steps: [{ fault: { kind: 'status', status: 400, body: { error: { message: 'no' } } } }] }),
  });
  const slow = sign(failing, { text: scripted({ steps: [{ text: 'Late.', first_token_ms: 600_000 }] }) });

  await send(stack, failing, faulty);
  const cancelled = await send(stack, failing, slow);
  await stack.request('POST', `/runs/${cancelled?.body.run_id}/cancel`, { body: {} });
  await Promise.all([deliver(grouped, 'Grouped.'), deliver(grouped, 'Grouped.'), deliver(grouped, 'Grouped.')]);
  await settled(failing, 2);
  await settled(grouped);

  const told = receiver.received.map(({ body }) => JSON.parse(body).data).map(({ status, output }) => [status, output?.text ?? null]);
  expect(told.toSorted()).toEqual([
    ['cancelled', null],
    ['failed', null],
    ['succeeded', 'Grouped.'],
  ]);
});

test('a worker killed between sending and its record sends again, under the same webhook-id', async () => {
  const endpoint = await makeCalling();
  let isKilled = false;
  receiver.answers = [
    // The receiver has it, and hasn't said so yet.
    () => void stack.kill('worker-runs').then(() => (isKilled = true)),
    answer(200),
  ];

  await deliver(endpoint, 'Killed.');
  await until(() => isKilled);
  await stack.start('worker-runs');
  await settled(endpoint);

  const [callback] = await callbacksOf(endpoint);
  expect(callback).toMatchObject({ status: 'delivered', attempts: 2 });
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([callback?.id, callback?.id]);
});
