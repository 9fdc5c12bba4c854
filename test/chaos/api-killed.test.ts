import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { archivedFrames, makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { gapsOf, readStream } from '../support/stream-client.ts';
import { until } from '../support/temporal.ts';

let models: ModelServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'api-2', 'worker-runs'], modelBaseUrl: models.baseUrl });
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

test('an API killed under an open stream: the client goes on at the other one after its last number', async () => {
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 80, delay_ms: 40 }] }));
  const key = stack.tenant.serviceKey.plaintext;
  const moving = readStream([stack.url('api'), stack.url('api-2')], `/runs/${run.id}/stream`, key);
  const staying = readStream([stack.url('api-2')], `/runs/${run.id}/stream`, key);
  await until(() => moving.frames.length >= 8);

  await stack.kill('api');
  const [moved, stayed] = await Promise.all([moving.finished, staying.finished]);
  await stack.start('api');
  const replayed = await readStream([stack.url('api')], `/runs/${run.id}/stream`, key).finished;

  expect(moving.reconnects()).toBeGreaterThan(0);
  expect(gapsOf(moved)).toEqual([]);
  expect(moved.map((frame) => frame.text)).toEqual(stayed.map((frame) => frame.text));
  expect(replayed.map((frame) => frame.text)).toEqual(stayed.map((frame) => frame.text));
  expect(moved.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'succeeded' } });
});

test('Redis emptied in the middle and after the end: watchers and replays get every byte', async () => {
  const redis = new Redis(process.env['REDIS_URL'] ?? '');
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 60, delay_ms: 50 }] }));
  const key = stack.tenant.serviceKey.plaintext;
  const reader = readStream([stack.url('api-2')], `/runs/${run.id}/stream`, key);

  await until(() => reader.frames.length >= 8);
  await emptied(redis, stack.redisPrefix);
  const live = await reader.finished;
  await emptied(redis, stack.redisPrefix);
  const replayed = await readStream([stack.url('api')], `/runs/${run.id}/stream`, key).finished;

  expect(gapsOf(live)).toEqual([]);
  expect(replayed.map((frame) => frame.text)).toEqual(live.map((frame) => frame.text));
  expect(live.map((frame) => frame.text)).toEqual(await archivedFrames(stack, run.id));
  redis.disconnect();
});

test('50 parallel POSTs with one Idempotency-Key over two processes start one run, and none fails', async () => {
  const agent = await makeAgent(stack, []);
  const headers = { 'idempotency-key': crypto.randomUUID() };
  const body = { agent_id: agent.id, input: { text: scripted({ steps: [{ text: 'Once.' }] }) } };
  const processes = ['api', 'api-2'] as const;
  const post = async (name: (typeof processes)[number]) => {
    for (;;) {
      const answer = await stack.request('POST', '/runs', { body, headers, process: name });
      // On a busy machine PostgreSQL may be slow for a moment: a client comes back with its key.
      if (answer.status !== 503) return answer;
      await delay(1_000);
    }
  };

  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => post(processes[n % 2] ?? 'api')));
  const repeat = await stack.request('POST', '/runs', { body, headers });

  const started = answers.filter((answer) => answer.status === 202).map((answer) => (answer.body as { id: string }).id);
  expect(new Set(answers.map((answer) => answer.status)).difference(new Set([202, 409])).size).toBe(0);
  expect(new Set(started).size).toBe(1);
  expect(repeat).toMatchObject({ status: 202, body: { id: started[0] } });
  expect(repeat.headers.get('idempotency-replayed')).toBe('true');
  const runs = await sweep(stack.db, (em) => rows<{ n: number }>(em, 'select count(*)::int as n from runs where agent_id = ?', [agent.id]));
  expect(runs[0]?.n).toBe(1);
});

/** What FLUSHALL is to this deployment, without the other tests' keys. */
async function emptied(redis: Redis, prefix: string): Promise<void> {
  const keys = await redis.keys(`*${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
}
