import { keepFindings, lockPullRow } from '../../../db/code-review/findings/write-ledger.ts';
import { keepCommentIds, keepPosted, keepReadBack, keepSummary, type PostPlace } from '../../../db/code-review/posts/posts.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { findingToKeep } from '../finish-review.ts';
import { summaryDigest } from '../pipeline/summary-text.ts';
import type { ReadBackFinding } from './read-back.ts';
import type { PlacedFinding } from '../pipeline/finding.ts';

/** What has been posted of a review. */
export interface PostedFindings {
  readonly runId: string;
  readonly pullRequestId: string;
  readonly headSha: string;
  readonly findings: readonly PlacedFinding[];
  readonly comments: readonly { readonly fingerprint: string; readonly commentId: number }[];
  /** The summary that the review has as its body; null: none. */
  readonly summary: { readonly reviewId: number; readonly text: string } | null;
}

/**
 * Stores the summary, and the findings in the ledger with the ids of their comments: from now on the ledger and the host agree, whatever becomes of the run.
 */
export async function keepPostedFindings(
  tx: TenantTransaction,
  { runId, pullRequestId, headSha, findings, comments, summary }: PostedFindings,
): Promise<void> {
  await lockPullRow(tx, pullRequestId);
  if (summary !== null) await keepSummary(tx, pullRequestId, { reviewId: summary.reviewId, sha256: summaryDigest(summary.text) });
  const posted = new Set(comments.map(({ fingerprint }) => fingerprint));
  const kept = findings.filter(({ fingerprint }) => posted.has(fingerprint)).map(findingToKeep);
  await keepFindings(tx, { runId, pullRequestId, headSha, findings: kept, carried: [], fixed: [], outdated: [] });
  await keepCommentIds(tx, pullRequestId, comments);
}

/** The summary that a run has edited in place. */
export interface EditedSummary {
  readonly place: PostPlace;
  readonly runId: string;
  readonly pullRequestId: string;
  readonly reviewId: number;
  readonly text: string;
}

/** Stores the new summary of a pull request. */
export async function keepEditedSummary(
  tx: TenantTransaction,
  { place, runId, pullRequestId, reviewId, text }: EditedSummary,
): Promise<void> {
  await keepSummary(tx, pullRequestId, { reviewId, sha256: summaryDigest(text) });
  await keepPosted(tx, place, { ownerId: runId, kind: 'summary', ordinal: 0 }, reviewId);
}

/** The findings read back from the host for a pull request whose ledger is lost. */
export interface ReadBackLedger {
  readonly pullRequestId: string;
  readonly runId: string;
  readonly headSha: string;
  readonly findings: readonly ReadBackFinding[];
  /** Null: the host has no summary of ours, or the summary is known. */
  readonly summary: { readonly reviewId: number; readonly text: string } | null;
}

/** Restores a ledger; existing findings stay as they are. Returns how many findings were written. */
export async function keepReadBackLedger(tx: TenantTransaction, { summary, findings, ...at }: ReadBackLedger): Promise<number> {
  await lockPullRow(tx, at.pullRequestId);
  if (summary !== null) await keepSummary(tx, at.pullRequestId, { reviewId: summary.reviewId, sha256: summaryDigest(summary.text) });
  return keepReadBack(tx, at, findings);
}
