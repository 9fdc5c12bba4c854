import { keepFindings } from '../../../db/code-review/ledger.ts';
import { keepCommentIds } from '../../../db/code-review/posts.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { findingToKeep } from '../finish-review.ts';
import type { PlacedFinding } from '../pipeline/finding.ts';

/** What has been posted of a review. */
export interface PostedFindings {
  readonly runId: string;
  readonly pullRequestId: string;
  readonly headSha: string;
  readonly findings: readonly PlacedFinding[];
  readonly comments: readonly { readonly fingerprint: string; readonly commentId: number }[];
}

/** Writes findings into the ledger with the comments under which they stand: from now on the ledger and the host agree, whatever becomes of the run. */
export async function keepPostedFindings(
  tx: TenantTransaction,
  { runId, pullRequestId, headSha, findings, comments }: PostedFindings,
): Promise<void> {
  const posted = new Set(comments.map(({ fingerprint }) => fingerprint));
  const kept = findings.filter(({ fingerprint }) => posted.has(fingerprint)).map(findingToKeep);
  await keepFindings(tx, { runId, pullRequestId, headSha, findings: kept, carried: [], fixed: [], outdated: [] });
  await keepCommentIds(tx, pullRequestId, comments);
}
