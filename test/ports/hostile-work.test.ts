import { setMaxListeners } from 'node:events';
import { afterAll, expect, test } from '@jest/globals';
import { Failure } from '../../workflows/contracts/failure.ts';
import { WorkLimit, WorkProblem } from '../../ports/untrusted/work-errors.ts';
import { sorts } from '../../ports/untrusted/sorts.ts';
import { oneOfEach } from '../chaos/whole.ts';
import { hostileWork, median, timesOf } from '../support/hostile-work.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();

afterAll(() => pool.close());

/** What a hostile job may come to: cut off, refused in words, turned away, or even done. */
function outcomeOf(settled: PromiseSettledResult<unknown>): string {
  if (settled.status === 'fulfilled') return 'done';
  const error: unknown = settled.reason;
  if (error instanceof WorkLimit) return 'limit';
  if (error instanceof WorkProblem) return 'problem';
  return error instanceof Failure ? error.code : String(error);
}

const expected = ['done', 'limit', 'problem', 'validation_failed', 'service_unavailable', 'Error: over'];

function refusedForLackOfTurns(error: unknown): void {
  if (!(error instanceof Failure) || error.code !== 'service_unavailable') throw error;
}

/** Below it nobody feels a difference, and a machine that is busy with other tests makes more. */
const floorMs = 5_000;

test('every sort is attacked here', () => {
  expect(hostileWork.map(({ sort }) => sort).toSorted()).toEqual(Object.keys(sorts).toSorted());
});

test.each(oneOfEach(hostileWork, () => 'hostile').map((work) => [work.sort, work] as const))(
  'a thousand hostile jobs at once of the sort %s end none of our processes, and a neighbour hardly notices',
  async (_sort, work) => {
    await timesOf(work, pool, 3);
    const idle = median(await timesOf(work, pool, 15));

    const end = new AbortController();
    setMaxListeners(0, end.signal);
    const hostile = Array.from({ length: 1_000 }, (_, at) => work.hostile({ pool, signal: end.signal }, at));
    const attack = Promise.allSettled(hostile);
    const beside = median(await timesOf(work, pool, 15));
    await Promise.any(hostile.map((job) => job.then(() => Promise.reject(new Error('done')), refusedForLackOfTurns)));
    end.abort(new Error('over'));
    const outcomes = new Set((await attack).map(outcomeOf));

    expect(beside).toBeLessThan(Math.max(3 * idle, floorMs));
    expect(outcomes).toContain('service_unavailable');
    expect([...outcomes].filter((outcome) => !expected.includes(outcome))).toEqual([]);
    expect(pool.pids().length).toBeLessThanOrEqual(4);
    await work.plain(pool);
  },
);
