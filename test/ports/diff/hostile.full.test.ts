import { afterAll, expect, test } from '@jest/globals';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { WorkLimit } from '../../../ports/untrusted/work-errors.ts';
import { deadlineIn } from '../../../ports/deadline.ts';
import { hostileWork } from '../../support/hostile-work.ts';
import { testWorkPool } from '../../support/work-pool.ts';

const pool = testWorkPool();

afterAll(() => pool.close());

test.each(hostileWork.filter(({ sort }) => sort === 'paths' || sort === 'patch').map((work) => [work.sort, work] as const))(
  'a hostile job of the sort %s is ended at its limit, a neighbour is served beside it, and the next job as well',
  async (_sort, work) => {
    const hostile = work.hostile({ pool, signal: deadlineIn(200_000) }, 1).then(
      () => 'done',
      // One that gets too little processor on a busy machine comes to the end of its time instead.
      (error: unknown) =>
        error instanceof WorkLimit || (error instanceof Failure && error.code === 'service_unavailable') ? 'ended' : String(error),
    );
    await work.plain(pool);

    expect(await hostile).toBe('ended');
    await work.plain(pool);
    expect(pool.pids().length).toBeLessThanOrEqual(4);
  },
);
