import type { KeyedBill } from '../../db/billing/ledger/call-bill.ts';
import { settleLostCall } from '../../db/billing/ledger/settle-embedding.ts';
import { findExport } from '../../db/evaluations/exports.ts';
import type { StoredVote } from '../../db/evaluations/evaluation-result.entity.ts';
import { markAsked, storeVote, unmarkAsked } from '../../db/evaluations/votes.ts';
import { lockEvaluation, type EvaluationState, type OpenVote } from '../../db/evaluations/work.ts';
import { claimResult, endResult, linkExport, type ClaimedResult, type ResultEnd } from '../../db/evaluations/write-work.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';

/** Counts an attempt to score a result and returns what it needs; null: the result no longer waits for scores. */
export function beginScoring(tx: TenantTransaction, resultId: string): Promise<ClaimedResult | null> {
  return claimResult(tx, resultId);
}

/** Stores a vote of a judge, once; stores nothing for a result that no longer waits for scores. */
export function keepVote(tx: TenantTransaction, resultId: string, name: string, vote: StoredVote): Promise<void> {
  return storeVote(tx, resultId, name, vote);
}

/** Records that a vote is being requested. Throws `service_unavailable` when another worker has the result by now: the vote must not be requested then. */
export async function beginVote(
  tx: TenantTransaction,
  result: Pick<ClaimedResult, 'id' | 'attempts'>,
  asked: { readonly name: string; readonly bill: KeyedBill },
): Promise<void> {
  if (await markAsked(tx, result, asked)) return;
  throw fail('service_unavailable', { reason: 'fenced', detail: 'Another worker scores the result.' });
}

/** Records that the call for a vote is settled, or has cost nothing. */
export function endVote(
  tx: TenantTransaction,
  resultId: string,
  asked: { readonly name: string; readonly callKey: string },
): Promise<void> {
  return unmarkAsked(tx, resultId, asked);
}

/**
 * Settles the call for a vote whose worker was lost: its prompt, estimated, at the prices and in the windows in which it was reserved. A worker that was only
 * frozen and reports its usage later finds it settled. Runs in a transaction of its own; may be repeated.
 */
export async function settleLostVote(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: Pick<EvaluationState, 'id' | 'organizationId' | 'workspaceId'>,
  { resultId, name, asked }: OpenVote,
): Promise<void> {
  await settleLostCall(tx, asked, { source: { kind: 'evaluation', id }, organizationId, workspaceId });
  await endVote(tx, resultId, { name, callKey: asked.callKey });
}

/** Ends a result with all its scores, atomically and once; returns false when it has ended before. */
export function endScoring(tx: TenantTransaction, resultId: string, end: ResultEnd): Promise<boolean> {
  return endResult(tx, resultId, end);
}

/** Links the file that `insert` creates to an evaluation as the export of all its results, once. */
export async function keepExport(tx: TenantTransaction, id: string, insert: () => Promise<{ readonly id: string }>): Promise<void> {
  const evaluation = await lockEvaluation(tx, id);
  if (evaluation === null || (await findExport(tx, id)) !== null) return;
  await linkExport(tx, evaluation, (await insert()).id);
}
