import { setTimeout as delay } from 'node:timers/promises';
import type { AlertTarget } from '../../db/alerts/alert-target.ts';
import type { WrittenDelivery } from '../../db/alerts/deliveries.ts';
import { readTestDeliveries } from '../../db/alerts/tests.ts';
import type { RightHolder } from '../../db/streams/access.ts';
import { openReadOnly } from '../../db/transaction.ts';
import { resultsOf, type TestResult } from '../../domain/alerts/tests.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { whileEntitled } from '../streams/while-entitled.ts';

const maxWaitMs = 20_000;
const firstPauseMs = 50;
const maxPauseMs = 500;

/** A test whose deliveries are under way. */
interface WaitedTest {
  readonly place: RightHolder['place'] | null;
  readonly targets: readonly AlertTarget[];
  readonly written: readonly WrittenDelivery[];
}

/** Waits until each delivery has had its try, at most 20 s; a delivery without an outcome by then is `pending`. Holds no connection while it waits. */
export function waitForTest(ctx: Ctx, { place, targets, written }: WaitedTest): Promise<TestResult[]> {
  const { deps, tenant, actor, correlationId } = ctx;
  const end = performance.now() + maxWaitMs;
  const ids = written.map(({ id }) => id);
  const check = async () =>
    resultsOf(targets, written, await readTestDeliveries(openReadOnly(deps.db, { tenant, actor, correlationId }).tx, ids));

  return whileEntitled(ctx, place ? { place } : {}, async (signal) => {
    let results = await check();
    for (let pauseMs = firstPauseMs; performance.now() < end && !signal.aborted; pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)) {
      if (results.every(({ outcome }) => outcome !== 'pending')) break;
      await delay(pauseMs);
      results = await check();
    }
    return results;
  });
}
