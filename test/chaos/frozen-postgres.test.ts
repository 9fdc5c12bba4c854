import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { makeAgent, type CreatedAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { familyOf, signalAll } from './faults/processes.ts';

const answeredMs = 12_000;

let own: OwnServices;
let stack: Stack;
let agent: CreatedAgent;
let frozen: readonly number[] = [];

beforeAll(async () => {
  own = await ownServices('frozen-postgres');
  stack = await startStack({ processes: ['api'], env: { RATE_LIMITS: 'principal=off,workspace=off' } });
  agent = await makeAgent(stack, []);
});

afterAll(async () => {
  thaw();
  await stack?.stop().catch(() => undefined);
  await own?.stop();
});

function freeze(): void {
  frozen = familyOf(own.pid('postgres'));
  signalAll(frozen, 'SIGSTOP');
}

function thaw(): void {
  // Those that were born meanwhile as well.
  signalAll([...frozen, ...familyOf(own.pid('postgres'))], 'SIGCONT');
}

interface Timed {
  readonly status: number;
  readonly ms: number;
}

async function timed(path: string, init: RequestInit = {}): Promise<Timed> {
  const startedAt = performance.now();
  const answer = await fetch(stack.url() + path, {
    ...init,
    headers: {
      authorization: `Bearer ${stack.tenant.serviceKey.plaintext}`,
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...init.headers,
    },
    signal: AbortSignal.timeout(60_000),
  });
  const ms = performance.now() - startedAt;
  await answer.body?.cancel();
  return { status: answer.status, ms };
}

/** Opens the pool's connections, so that the freeze meets idle ones. */
async function warm(): Promise<void> {
  await until(async () => (await timed('/agents')).status === 200);
  await Promise.all(Array.from({ length: 12 }, () => timed('/agents')));
}

/** The first answer that is not shared with a look from before the freeze. */
async function unready() {
  for (;;) {
    const answer = await timed('/health/ready');
    if (answer.status !== 200) return answer;
  }
}

const skill = (key: string) => ({
  method: 'POST',
  body: JSON.stringify({ slug: `skill-${key}`, description: 'Kept whatever happens.', instructions: 'None.' }),
  headers: { 'idempotency-key': key },
});

test('with PostgreSQL frozen every kind of request is 503 within 12 s, and probes answer at once; after the thaw all works', async () => {
  await warm();
  freeze();

  const many = (count: number, path: string, init?: RequestInit) => Array.from({ length: count }, () => timed(path, init));
  const reads = [...many(12, '/agents'), ...many(3, '/auth/me'), ...many(3, `/runs/${randomUUID()}`)];
  const writes = [
    ...many(2, '/skills', skill(randomUUID())),
    ...many(2, '/runs', { method: 'POST', body: JSON.stringify({ agent_id: agent.id, input: { text: 'x' } }) }),
    ...many(2, '/auth/login', {
      method: 'POST',
      body: JSON.stringify({ email: 'a@b.test', password: 'no' }),
      headers: { authorization: '' },
    }),
  ];
  const streams = many(12, `/runs/${randomUUID()}/stream`);
  const ready = await unready();
  const live = await timed('/health/live');
  const answers = await Promise.all([...reads, ...writes, ...streams]);
  const late = await Promise.all([...many(12, '/agents'), ...many(6, `/runs/${randomUUID()}/stream`)]);
  thaw();

  expect([...new Set([...answers, ...late].map(({ status }) => status))]).toEqual([503]);
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(answeredMs);
  // By then it is known that the server says nothing: only the wait for a connection is left.
  expect(Math.max(...late.map(({ ms }) => ms))).toBeLessThan(answeredMs);
  expect([ready.status, live.status]).toEqual([503, 200]);
  expect(ready.ms).toBeLessThan(answeredMs / 4); // 1 s, and what a busy machine adds

  await warm();
  expect((await timed('/health/ready')).status).toBe(200);
});

test('a POST whose commit was lost in the freeze is answered by its key afterwards: it is done once', async () => {
  const key = randomUUID();
  await warm();
  // Frozen at some moment of its work: whatever it was about, its repeat finds one skill.
  const asked = Array.from({ length: 6 }, (_, n) => timed('/skills', skill(`${key}-${n}`)));
  freeze();
  const answers = await Promise.all(asked);
  thaw();
  await warm();

  expect(answers.every(({ status }) => status === 201 || status === 503)).toBe(true);
  for (const n of asked.keys()) await until(async () => (await timed('/skills', skill(`${key}-${n}`))).status === 201);
  const found = await fetch(`${stack.url()}/skills?limit=200`, {
    headers: { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` },
  });
  const { items } = (await found.json()) as { items: { slug: string }[] };
  expect(items.filter(({ slug }) => slug.includes(key))).toHaveLength(asked.length);
});

test('a socket that opens in the freeze is closed as unavailable', async () => {
  const run = await stack.request('POST', '/runs', { body: { agent_id: agent.id, input: { text: 'x' } } });
  const { id } = run.body as { id: string };
  const token = await stack.request('POST', `/runs/${id}/stream-token`);
  await warm();
  freeze();

  const socket = new WebSocket(`${stack.url().replace('http', 'ws')}/ws/runs/${id}`);
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', token: (token.body as { token: string }).token })));

  expect(await closed).toBe(4503);
  thaw();
});
