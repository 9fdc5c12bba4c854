import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createOpenings } from '../../api/streams/openings.ts';
import { newId } from '../../db/ids.ts';
import { startSlowProxy, type SlowProxy } from '../support/slow-proxy.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';

const clients = 300;
const delayMs = 10;

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

test('few steps at once, what was begun before what is new, and 503 for what waits too long', async () => {
  const openings = createOpenings({ openingsAtOnce: 2, openingMs: 60_000 });
  const order: string[] = [];
  let running = 0;
  let most = 0;
  const step = (kind: 'caller' | 'run') =>
    openings.inTurn(kind, async () => {
      most = Math.max(most, ++running);
      order.push(kind);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running -= 1;
    });

  await Promise.all([...Array.from({ length: 6 }, () => step('caller')), ...Array.from({ length: 2 }, () => step('run'))]);
  expect(most).toBe(2);
  expect(order).toEqual(['caller', 'caller', 'run', 'run', 'caller', 'caller', 'caller', 'caller']);

  const impatient = createOpenings({ openingsAtOnce: 1, openingMs: 5 });
  const slow = impatient.inTurn('caller', () => new Promise((resolve) => setTimeout(resolve, 50)));
  await expect(impatient.inTurn('caller', async () => 'late')).rejects.toMatchObject({ code: 'service_unavailable' });
  await slow;
  await expect(impatient.inTurn('run', async () => 'in time')).resolves.toBe('in time');
});
