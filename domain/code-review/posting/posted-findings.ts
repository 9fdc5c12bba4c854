import { keepFindings, type FindingToKeep } from '../../../db/code-review/ledger.ts';
import { keepCommentIds } from '../../../db/code-review/posts.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { PlacedFinding } from '../pipeline/finding.ts';

/** A finding as the ledger has it. */
export function findingToKeep(finding: PlacedFinding): FindingToKeep {
  const { fingerprint, ruleId, category, severity, confidence, path, side, title, scenario, evidence, suggestion, placement, alsoAt } =
    finding;
  const startLine = finding.anchor?.startLine ?? finding.saidLine;
  const endLine = finding.anchor?.line ?? finding.saidLine;
  return {
    fingerprint,
    ruleId,
    category,
    severity,
    confidence,
    path,
    side,
    startLine,
    endLine,
    title,
    scenario,
    evidence,
    suggestion,
    placement,
    alsoAt,
  };
}

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
