import { findExport } from '../../db/evaluations/find-export.ts';
import { linkExport } from '../../db/evaluations/link-export.ts';
import { lockEvaluation, type ClaimedResult, type StoredVote } from '../../db/evaluations/work.ts';
import { claimResult, endResult, storeVote, type ResultEnd } from '../../db/evaluations/write-work.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Counts an attempt to score a result and gives what that takes; null: it does not wait for scores any more. */
export function beginScoring(tx: TenantTransaction, resultId: string): Promise<ClaimedResult | null> {
  return claimResult(tx, resultId);
}

/** Keeps a vote of a judge, once; of a result that waits for scores no more it keeps nothing. */
export function keepVote(tx: TenantTransaction, resultId: string, name: string, vote: StoredVote): Promise<void> {
  return storeVote(tx, resultId, name, vote);
}

/** Ends a result with all its scores, at once and once; false: it has ended before. */
export function endScoring(tx: TenantTransaction, resultId: string, end: ResultEnd): Promise<boolean> {
  return endResult(tx, resultId, end);
}

/** Has the file that `insert` makes stay with an evaluation as that of all its results, once. */
export async function keepExport(tx: TenantTransaction, id: string, insert: () => Promise<{ readonly id: string }>): Promise<void> {
  const evaluation = await lockEvaluation(tx, id);
  if (evaluation === null || (await findExport(tx, id)) !== null) return;
  await linkExport(tx, evaluation, (await insert()).id);
}
