import { afterEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createPool, type WorkPool, type WorkPoolOptions } from '../../ports/untrusted/pool.ts';
import { FairQueue } from '../../ports/untrusted/fair-queue.ts';
import { sorts } from '../fakes/work-sorts.ts';

const open: WorkPool<typeof sorts>[] = [];

afterEach(() => Promise.all(open.splice(0).map((pool) => pool.close())));

function poolOf(options: Partial<WorkPoolOptions> = {}) {
  const module = new URL('../fakes/work-sorts.ts', import.meta.url);
  const pool = createPool({ sorts, module }, { log: pino({ level: 'silent' }), ...options });
  open.push(pool);
  const ask = (organizationId: string | null, amount: number) => pool.run('patient', { organizationId, job: { deed: 'idle', amount } });
  return { pool, ask };
}

const limits = { jobs: 3, bytes: 100, allBytes: 150 };
const waiting = (organization: string, bytes = 1) => ({ organization, bytes });

test('an organization holds at most half of the children, and the platform counts as one', async () => {
  const { pool, ask } = poolOf();
  const stranger = Array.from({ length: 8 }, () => ask('a', 600_000));
  const ended = Promise.allSettled(stranger);

  expect(pool.pids()).toHaveLength(2);
  expect(await ask('b', 1)).toBe(1);
  const platform = Array.from({ length: 8 }, () => ask(null, 600_000));
  const bothEnded = Promise.allSettled(platform);
  expect(pool.pids()).toHaveLength(4);
  await pool.close();
  await Promise.all([ended, bothEnded]);
});

test('what can not begin in time is service_unavailable with the time to come back, and leaves the line', async () => {
  const { pool, ask } = poolOf({ size: 1, beginMs: 100 });
  const held = ask('a', 600_000).catch(() => undefined);

  await expect(ask('b', 1)).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 5, context: { reason: 'work_busy' } });
  await pool.close();
  await held;
});

test('more than may wait is turned away at once, and takes nobody else the place', async () => {
  const { pool, ask } = poolOf({ size: 2, beginMs: 60_000 });
  const hostile = Promise.allSettled(Array.from({ length: 1_200 }, () => ask('a', 600_000)));

  expect(await ask('b', 1)).toBe(1);
  await pool.close();
  const reasons = (await hostile).map((one) => (one.status === 'rejected' ? String(Reflect.get(one.reason.context, 'reason')) : ''));
  expect(reasons.filter((reason) => reason === 'work_busy')).toHaveLength(199); // one works, a thousand wait
});

test('organizations take turns, each in its own order', () => {
  const turns = new FairQueue(limits);
  const [a1, a2, a3, b1] = [waiting('a'), waiting('a'), waiting('a'), waiting('b')];
  for (const one of [a1, a2, a3, b1]) turns.add(one);
  const next = () => turns.next(() => true);

  expect([next(), next(), next(), next(), next()]).toEqual([a1, b1, a2, a3, null]);
});

test('one that may not begin anything now is passed over and keeps its turn', () => {
  const turns = new FairQueue(limits);
  const [a, b] = [waiting('a'), waiting('b')];
  turns.add(a);
  turns.add(b);

  expect(turns.next((organization) => organization !== 'a')).toBe(b);
  expect(turns.next(() => true)).toBe(a);
});

test('jobs, bytes of one and bytes of all are bounded, and what leaves makes room', () => {
  const turns = new FairQueue(limits);
  const large = waiting('a', 90);

  expect([turns.add(large), turns.add(waiting('a', 20)), turns.add(waiting('b', 50)), turns.add(waiting('c', 50))]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect([turns.remove(large), turns.remove(large)]).toEqual([true, false]);
  expect(turns.add(waiting('c', 50))).toBe(true);
  expect([1, 2, 3, 4].map(() => turns.add(waiting('d')))).toEqual([true, true, true, false]);
});
