import type { Databases } from '../../db/databases.ts';
import { eraseBackfillsByAge, eraseOccurrencesByAge, rowsAStatement } from '../../db/schedules/retention.ts';
import { sweep } from '../../db/transaction.ts';

/**
 * Deletes occurrences of schedules and backfills past 400 days, in batches, each a transaction of its own: after a kill the next pass continues. Returns the
 * number of rows.
 */
export async function eraseOldOccurrences(db: Databases, signal: AbortSignal): Promise<number> {
  let total = 0;
  for (const erase of [eraseOccurrencesByAge, eraseBackfillsByAge])
    for (let count = rowsAStatement; count === rowsAStatement; total += count) {
      signal.throwIfAborted();
      count = await sweep(db, erase);
    }
  return total;
}
