import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createConnectQueue } from '../../api/streams/connect-queue.ts';
import { newId } from '../../db/ids.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { startSlowProxy, type SlowProxy } from '../support/slow-proxy.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';

// Few and slow: what each waits for is the way to the database, and not the machine.
const clients = 60;
const delayMs = 30;
const never = new AbortController().signal;

let database: TestDatabase;
let proxy: SlowProxy;
let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  database = await testDatabase();
  proxy = await startSlowProxy(Number(new URL(database.appUrl).port));
  const appUrl = new URL(database.appUrl);
  appUrl.port = String(proxy.port);
  api = await startApi({
    database,
    hasOwnPools: true,
    env: {
      DATABASE_APP_URL: appUrl.href,
      DATABASE_POOL_MAX: '2',
      STREAMS_PER_PRINCIPAL: '1000',
      RATE_LIMITS: 'principal=off,workspace=off',
    },
  });
  tenant = await makeTenant(api.db, api.keys);
});
afterAll(async () => {
  await api?.close();
  await proxy?.close();
  await database?.drop();
});

test('clients that come back at once all get their turn, where waiting for a connection alone would end with 503', async () => {
  proxy.delayMs = delayMs;
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: clients }, () =>
      fetch(`${api.url}/runs/${newId()}/stream`, { headers: { 'x-api-key': tenant.serviceKey.plaintext } }).then(async (answer) => {
        await answer.body?.cancel();
        return answer.status;
      }),
    ),
  );
  // No such run: each has passed both checks.
  expect(new Set(answers)).toEqual(new Set([404]));
  // Longer than a connection of the pool is waited for, so it is the turns that made it pass.
  expect(performance.now() - startedAt).toBeGreaterThan(2_000);
});

test('few steps at once, and what was begun before what is new', async () => {
  const openings = createConnectQueue({ maxConnectsAtOnce: 2, maxConnectMs: 60_000, maxConnectSilentMs: 60_000 }, never);
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const step = (kind: 'caller' | 'run', until?: Promise<void>) =>
    openings.run(kind, new Socket(), async () => {
      order.push(kind);
      await until;
    });

  const first = [step('caller', held.promise), step('caller', held.promise)];
  const later = [step('caller'), step('caller'), step('run'), step('run')];
  await Promise.resolve();
  expect(order).toEqual(['caller', 'caller']);
  held.resolve();
  await Promise.all([...first, ...later]);

  expect(order).toEqual(['caller', 'caller', 'run', 'run', 'caller', 'caller']);
});

test('who waits too long, has left, or waits when the process drains is refused, and is not served afterwards', async () => {
  const draining = new AbortController();
  const openings = createConnectQueue({ maxConnectsAtOnce: 1, maxConnectMs: 1_000, maxConnectSilentMs: 60_000 }, draining.signal);
  const held = Promise.withResolvers<void>();
  const served: string[] = [];
  const wait = (name: string, socket = new Socket()) => openings.run('caller', socket, async () => void served.push(name));
  const leaving = new Socket();

  const running = openings.run('caller', new Socket(), () => held.promise);
  const gone = wait('gone', leaving);
  leaving.destroy();
  await expect(gone).rejects.toMatchObject({ code: 'service_unavailable' });
  await expect(wait('left before', leaving)).rejects.toMatchObject({ code: 'service_unavailable' });
  await expect(wait('late')).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 5 });
  const drained = wait('drained');
  draining.abort();
  await expect(drained).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 1 });
  held.resolve();
  await running;

  expect(served).toEqual([]);
});

test('while nobody is answered nobody waits long; answers, refusals too, let the others wait for their turn', async () => {
  const openings = createConnectQueue({ maxConnectsAtOnce: 1, maxConnectMs: 60_000, maxConnectSilentMs: 1_000 }, never);
  const first = Promise.withResolvers<void>();
  const running = openings.run('caller', new Socket(), () => first.promise);
  const waiting = openings.run('caller', new Socket(), async () => 'served');

  await expect(waiting).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 5 });
  first.reject(fail('service_unavailable'));
  await expect(running).rejects.toMatchObject({ code: 'service_unavailable' });

  // Each takes its time, all together far longer than anybody may wait in silence.
  const steps = Array.from({ length: 8 }, (_, n) =>
    openings.run('caller', new Socket(), async () => {
      await delay(300);
      if (n % 2) throw fail('not_found');
    }),
  );
  expect((await Promise.allSettled(steps)).map(({ status }) => status)).toEqual(steps.map((_, n) => (n % 2 ? 'rejected' : 'fulfilled')));
  await expect(steps[7]).rejects.toMatchObject({ code: 'not_found' });
});
