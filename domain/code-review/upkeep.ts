import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { closeOverCaps } from '../../db/code-review/pulls/review-caps.ts';
import { eraseReviewEvents } from '../../db/code-review/bindings/binding-events.ts';
import type { LostPull } from '../../db/code-review/bindings/upkeep.ts';
import { wakeBinding, wakePullRequest } from '../../db/code-review/bindings/wake.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

const rowsATime = 5_000;

/** Makes the workflow of a pull request check it again. One message for each `cause`. */
export function wakeLostPull(tx: TenantTransaction, pull: LostPull, cause: string): Promise<void> {
  return wakePullRequest(tx, pull, { bindingId: pull.bindingId, pullNumber: pull.pullNumber, cause });
}

/** The same for a binding. */
export function wakeLostBinding(tx: TenantTransaction, binding: Parameters<typeof wakeBinding>[1], cause: string): Promise<void> {
  return wakeBinding(tx, binding, cause);
}

/** Deletes some events past 90 days; returns how many, and whether that was all. Uses the sweeper's pool. */
export async function eraseOldEvents(em: SqlEntityManager): Promise<{ readonly erased: number; readonly isDone: boolean }> {
  const erased = await eraseReviewEvents(em, rowsATime);
  return { erased, isDone: erased < rowsATime };
}

/** Closes some caps of closed pull requests and of past days; returns how many, and whether that was all. Uses the sweeper's pool. */
export async function closeSomeCaps(em: SqlEntityManager): Promise<{ readonly erased: number; readonly isDone: boolean }> {
  const erased = await closeOverCaps(em, rowsATime);
  return { erased, isDone: erased < rowsATime };
}
