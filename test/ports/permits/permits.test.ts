import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { connectRedis } from '../../../db/streams/redis.ts';
import type { LimitedModel, ModelPermits } from '../../../ports/models/permits/permits.ts';
import { testServices } from '../../support/services.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/temporal.ts';
import { limitedModel, permitsOf, take, taken, type TestPermits } from './world.ts';

let redis: Redis;
let proxy: TcpProxy;
let proxied: Redis;
const opened: ModelPermits[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  const url = new URL(testServices().redisUrl);
  redis = connectRedis(url.href, 'commands');
  proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port || 6379) });
  url.host = `127.0.0.1:${proxy.port}`;
  proxied = connectRedis(url.href, 'commands');
});
afterEach(() => {
  for (const permits of opened.splice(0)) permits.close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  proxy.thaw();
  proxy.mend();
});
afterAll(async () => {
  proxied.disconnect();
  redis.disconnect();
  await proxy.close();
});

const newPrefix = () => `test-${crypto.randomUUID()}:`;

/** As many processes of one deployment, which have each asked for a permit before: all know how many they are. */
async function processes(count: number, models: readonly LimitedModel[], over = redis): Promise<TestPermits[]> {
  const prefix = newPrefix();
  const all = Array.from({ length: count }, () => permitsOf(over, prefix, models));
  opened.push(...all);
  for (const each of [...all, ...all]) for (const model of models.slice(0, 1)) (await taken(each, model)).giveBack();
  return all;
}

const late = { maxWaitMs: 1_000 };

test('no more calls are under way than the limits of provider and model allow, whichever process makes them', async () => {
  const small = limitedModel('small', { provider: { concurrency: 3 }, model: { concurrency: 1 } });
  const large = limitedModel('large', { provider: { concurrency: 3 } });
  const [one, two] = await processes(2, [small, large]);
  if (!one || !two) throw new Error('there are two');

  const first = await taken(one, small);
  expect(await take(two, small, late)).toBeNull();
  await taken(two, large);
  await taken(one, large);
  expect(await take(two, large, late)).toBeNull();

  first.end(null);
  await taken(two, small);
});

test('requests of a minute are counted over all processes; one that was not sent is not', async () => {
  const model = limitedModel('chat', { model: { requestsPerMinute: 3 } });
  const [one, two] = await processes(2, [model]);
  if (!one || !two) throw new Error('there are two');

  (await taken(one, model)).end(null);
  (await taken(two, model)).end(null);
  const unsent = await taken(one, model);
  expect(await take(two, model, late)).toBeNull();

  unsent.giveBack();
  await taken(two, model);
  expect(await take(one, model, late)).toBeNull();
});

test('tokens are reserved by estimate and settled by use, over all processes; a call above the limit needs all of it', async () => {
  const model = limitedModel('chat', { provider: { tokensPerMinute: 1_000 } });
  const [one, two] = await processes(2, [model]);
  if (!one || !two) throw new Error('there are two');

  const first = await taken(one, model, { tokens: 5_000 });
  expect(await take(two, model, { ...late, tokens: 1 })).toBeNull();
  first.end(400);
  const second = await taken(two, model, { tokens: 600 });
  second.end(1_500);
  expect(await take(one, model, { ...late, tokens: 1 })).toBeNull();
});

test('a workspace with a thousand waiting calls does not hold up the first of another; its own go by age', async () => {
  const model = limitedModel('chat', { model: { concurrency: 1 } });
  const [one, two] = await processes(2, [model]);
  if (!one || !two) throw new Error('there are two');
  const served: string[] = [];
  const held = await taken(one, model, { workspaceId: 'a-many' });
  const wait = async (permits: ModelPermits, name: string, wish: { workspaceId: string; since: Date }) => {
    const permit = await taken(permits, model, wish);
    served.push(name);
    permit.end(1);
  };
  const many = Array.from({ length: 1_000 }, (_, at) =>
    wait(one, `many-${999 - at}`, { workspaceId: 'a-many', since: new Date(10_000 - at) }),
  );
  await until(async () => (await redis.zcard(await queueKey('a-many'))) === 1_000);
  const few = ['few-1', 'few-2'].map((name, at) => wait(two, name, { workspaceId: 'b-few', since: new Date(20_000 + at) }));
  await until(async () => (await redis.zcard(await queueKey('b-few'))) === 2);

  held.end(1);
  await Promise.all([...few, ...many]);

  // One of each in turn, although the name of the other workspace comes first.
  expect(served.indexOf('few-1')).toBeLessThanOrEqual(2);
  expect(served.indexOf('few-2')).toBeLessThanOrEqual(4);
  expect(served.filter((name) => name.startsWith('many'))).toEqual(Array.from({ length: 1_000 }, (_, at) => `many-${at}`));

  async function queueKey(workspaceId: string): Promise<string> {
    const [found = ''] = (await redis.keys(`*permits:acme:queue:acme/chat:${workspaceId}`)).toSorted();
    return found;
  }
});

test('a refusal in one process pauses the model in all, and calls come back one, then two, then four a second', async () => {
  const model = limitedModel('chat', { provider: {} });
  const other = limitedModel('other', { provider: {} });
  const [one, two] = await processes(2, [model, other]);
  if (!one || !two) throw new Error('there are two');
  const refused = await taken(one, model);
  refused.pause(2_000);
  refused.end(null);
  await until(async () => (await redis.keys('*permits:acme:pause:acme/chat')).length > 0);
  const pausedAt = performance.now();

  await taken(two, other);
  const times = await Promise.all(
    Array.from({ length: 12 }, async (_, at) => {
      (await taken(at % 2 === 0 ? one : two, model)).end(1);
      return performance.now() - pausedAt;
    }),
  );
  // Not before the pause is over (its begin was seen a moment late), and never more than the ramp allows.
  expect(Math.min(...times)).toBeGreaterThan(1_000);
  for (const [second, allowed] of [1, 3, 7].entries())
    expect(times.filter((ms) => ms < 2_000 + second * 1_000 - 500).length).toBeLessThanOrEqual(
      second === 0 ? 0 : ([1, 3][second - 1] ?? allowed),
    );
});

test('a call that is wanted no more leaves the queue at once, with the reason of its signal', async () => {
  const model = limitedModel('chat', { model: { concurrency: 1 } });
  const [one, two] = await processes(2, [model]);
  if (!one || !two) throw new Error('there are two');
  const held = await taken(one, model);
  const cancel = new AbortController();
  const cancelled = take(two, model, { signal: cancel.signal });
  const next = take(two, model);
  cancel.abort(new Error('cancelled'));

  await expect(cancelled).rejects.toThrow('cancelled');
  held.end(1);
  await expect(next).resolves.not.toBeNull();
  await expect(take(one, model, { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late');
});

/** A process of its own that holds a permit of `acme/chat`. */
async function holder(prefix: string, concurrency: number): Promise<ChildProcess> {
  const args = [join(import.meta.dirname, 'holder.ts'), testServices().redisUrl, prefix, String(concurrency)];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout ?? child, 'data');
  return child;
}

test('the permits of a process that is killed, and of one that is frozen, come back by their lease', async () => {
  const prefix = newPrefix();
  const model = limitedModel('chat', { provider: { concurrency: 2 } });
  const killed = await holder(prefix, 2);
  const frozen = await holder(prefix, 2);
  const permits = permitsOf(redis, prefix, [model]);
  opened.push(permits);
  expect(await take(permits, model, late)).toBeNull();

  killed.kill('SIGKILL');
  frozen.kill('SIGSTOP');
  const [first] = await Promise.all([taken(permits, model), taken(permits, model)]);

  // Back at work, it holds its permit again: its call is still under way.
  frozen.kill('SIGCONT');
  await until(async () => Number(await redis.zcard(`${prefix}permits:acme:processes`)) === 2);
  await delay(500);
  first.end(1);
  expect(await take(permits, model, late)).toBeNull();
});

test.each(['cut', 'frozen'] as const)(
  'while Redis is %s each process grants its share, and says so; then they share again',
  async (fault) => {
    const model = limitedModel('chat', { provider: { concurrency: 4, requestsPerMinute: 1_000 } });
    const [one, two] = await processes(2, [model], proxied);
    if (!one || !two) throw new Error('there are two');
    if (fault === 'cut') proxy.cut();
    else proxy.freeze();

    const held = await Promise.all([one, one, two, two].map((permits) => taken(permits, model)));
    expect(await Promise.all([one, two].map((permits) => take(permits, model, late)))).toEqual([null, null]);
    for (const { warnings } of [one, two])
      expect(warnings).toContain('limits of models are divided among the processes: redis does not answer');

    proxy.mend();
    proxy.thaw();
    held[0]?.end(1);
    held[1]?.end(1);
    // Those that the other process holds count again: this one may have the two that were given back, and no more.
    await Promise.all([taken(two, model), taken(two, model)]);
    expect(await take(one, model, late)).toBeNull();
  },
);

test('without limits nothing is opened and nothing is asked', () => {
  const untouchable = new Proxy({} as Redis, {
    get: (_target, name) => {
      throw new Error(`redis.${String(name)}`);
    },
  });
  const unlimited = { id: 'acme/chat', provider: 'acme', limits: null };

  const permits = permitsOf(untouchable, newPrefix(), [unlimited]);
  expect(permits.waiting('acme')).toBe(0);
  expect(() => take(permits, unlimited)).toThrow('has no limits');
  permits.close();
});
