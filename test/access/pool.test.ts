import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { liveOperations } from '../../api/http/operation/registry.ts';
import { areas } from '../../api/operations.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { createLeakWatch, type LeakWatch } from './leaks.ts';
import { makeAccessWorld, type AccessWorld } from './world/world.ts';

let database: TestDatabase;
let api: TestApi;
let world: AccessWorld;
let leaks: LeakWatch;
beforeAll(async () => {
  database = await testDatabase({ poolMax: 1 });
  api = await startApi({ database, env: { RATE_LIMITS: 'principal=off,workspace=off,anonymous=off' } });
  world = await makeAccessWorld({ db: api.db, keys: api.keys, adminUrl: database.adminUrl });
  leaks = createLeakWatch(world);
  await leaks.learn();
});
afterAll(async () => {
  await world.close();
  await api.close();
  await database.drop();
});

const lists = liveOperations(areas).filter(({ kind, access, path }) => kind === 'list' && access === 'viewer' && !path.includes('{'));
const twin = { slug: 'twin', name: 'Twin', scope: 'organization' };

/** Ways to disturb the one connection between two requests. */
const disturbances: readonly ((headers: Record<string, string>) => Promise<unknown>)[] = [
  // A shape that is refused, a row that is not there, a constraint that breaks the transaction.
  (headers) => api.app.inject({ method: 'POST', url: '/agents', headers, payload: {} }),
  (headers) => api.app.inject({ url: `/agents/${crypto.randomUUID()}`, headers }),
  (headers) => api.app.inject({ method: 'POST', url: '/agents', headers, payload: twin }),
  // A client that goes away.
  async (headers) => {
    const controller = new AbortController();
    const asked = fetch(`${api.url}/runs`, { headers, signal: controller.signal }).catch(() => null);
    setTimeout(() => controller.abort(), 2);
    await asked;
  },
  // As a statement that takes too long.
  () =>
    world.rows.query("select pg_cancel_backend(pid) from pg_stat_activity where usename = 'longhaul_app' and datname = current_database()"),
];

test('G12: over one connection A and B in turn, among errors, aborts and timeouts, see their own rows and no other', async () => {
  const [a, b] = [world.actor('owner A'), world.actor('owner B')];
  const seen: string[] = [];
  let answered = 0;

  const ask = async (turn: number) => {
    const actor = turn % 2 === 0 ? a : b;
    const operation = lists[turn % lists.length];
    if (!operation) throw new Error('no list is mounted');
    const disturb = disturbances[turn % disturbances.length];
    const [reply] = await Promise.all([
      api.app.inject({ url: `${operation.path}?limit=200`, headers: actor.headers }),
      disturb?.({ ...actor.headers }),
    ]);
    if (reply.statusCode === 200) answered += 1;
    seen.push(...leaks.foreignIn(reply.body, actor).map((mark) => `${operation.operationId} shows ${actor.name} ${mark}`));
  };
  for (let turn = 0; turn < 200; turn += 4) await Promise.all([0, 1, 2, 3].map((step) => ask(turn + step)));

  expect(lists.length).toBeGreaterThan(3);
  expect(seen).toEqual([]);
  // Some are cancelled; most are not.
  expect(answered).toBeGreaterThan(100);
});
