import { afterEach, expect, test } from '@jest/globals';
import { followClock, followedTime, type DatabaseClock } from '../../db/database-clock.ts';
import { databaseTime } from '../../db/database-time.ts';
import { sweep } from '../../db/transaction.ts';
import { testDatabase } from '../support/database.ts';

let clock: DatabaseClock | null = null;

afterEach(() => clock?.stop());

const dayMs = 86_400_000;
/** A database whose clock is so much ahead of this process, and which takes its time to say so. */
const aheadBy = (shift: { ms: number; delayMs: number }) => async () => {
  await new Promise((resolve) => setTimeout(resolve, shift.delayMs));
  return new Date(performance.timeOrigin + performance.now() + shift.ms);
};
const differenceMs = () => (clock?.now().getTime() ?? 0) - performance.timeOrigin - performance.now();

test.each([dayMs, -dayMs])('the clock shows the time of a database that is %d ms ahead', async (ms) => {
  clock = await followClock(aheadBy({ ms, delayMs: 0 }));

  expect(Math.abs(differenceMs() - ms)).toBeLessThan(100);
});

test('an answer that is slow does not move the clock; a database whose clock has been set does', async () => {
  const database = { ms: 0, delayMs: 0 };
  clock = await followClock(aheadBy(database));
  // The first measurement of a busy process may be a poor one, which a later one rightly corrects.
  while (Math.abs(differenceMs()) > 20) await clock.measure();
  const before = differenceMs();

  database.delayMs = 300;
  await clock.measure();
  const afterSlow = differenceMs();
  database.ms = 3_600_000;
  await clock.measure();

  expect(Math.abs(afterSlow - before)).toBeLessThan(1);
  expect(Math.abs(differenceMs() - 3_600_000)).toBeLessThan(400);
});

test('a database that does not answer leaves the clock as it is', async () => {
  let isUnavailable = false;
  const ask = aheadBy({ ms: dayMs, delayMs: 0 });
  clock = await followClock(() => (isUnavailable ? Promise.reject(new Error('away')) : ask()));
  isUnavailable = true;

  await expect(clock.measure()).rejects.toThrow('away');
  expect(Math.abs(differenceMs() - dayMs)).toBeLessThan(100);
});

test('both pools of a process follow the database, whose time differs from theirs by no round trip', async () => {
  const { db, drop } = await testDatabase();
  try {
    const [asked, followed] = await sweep(db, async (em) => [await databaseTime(em), followedTime(em)]);

    expect(Math.abs(followed.getTime() - asked.getTime())).toBeLessThan(1_000);
    expect(Math.abs(followedTime(db.app.em.fork()).getTime() - followed.getTime())).toBeLessThan(1_000);
  } finally {
    await drop();
  }
});
