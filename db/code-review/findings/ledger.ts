import type { FindingCategory, FindingState, Placement, Severity } from '../../../workflows/contracts/review/code-review.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A finding of a pull request's ledger. */
export interface LedgerRow {
  readonly id: string;
  readonly fingerprint: string;
  readonly ruleId: string | null;
  readonly category: FindingCategory;
  readonly severity: Severity;
  readonly confidence: number;
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly startLine: number;
  readonly endLine: number;
  readonly title: string;
  readonly scenario: string;
  readonly evidence: string;
  readonly suggestion: string | null;
  readonly state: FindingState;
  readonly placement: Placement;
  readonly commentId: number | null;
  readonly alsoAt: readonly { readonly path: string; readonly line: number }[];
  readonly firstHeadSha: string;
  readonly lastHeadSha: string;
}

/** Returns all findings of a pull request, oldest first. */
export function readLedger(tx: Pick<TenantTransaction, 'em'>, pullRequestId: string): Promise<LedgerRow[]> {
  return rows<LedgerRow>(
    tx.em,
    `select f.id, f.fingerprint, f.rule_id as "ruleId", f.category, f.severity, f.confidence::float8 as confidence, f.path, f.side, f.start_line as "startLine",
            f.end_line as "endLine", f.title, f.scenario, f.evidence, f.suggestion, f.state, f.placement, f.comment_id::float8 as "commentId", f.also_at as "alsoAt",
            f.first_head_sha as "firstHeadSha", f.last_head_sha as "lastHeadSha"
       from review_findings f where f.pull_request_id = ? order by f.id`,
    [pullRequestId],
  );
}

/** Returns, by path, the hashes of the hunks that the last review judged. */
export async function readJudgedHashes(tx: Pick<TenantTransaction, 'em'>, pullRequestId: string): Promise<Map<string, string[]>> {
  const found = await rows<{ path: string; hashes: string[] }>(
    tx.em,
    'select path, hunk_hashes as hashes from review_files where pull_request_id = ?',
    [pullRequestId],
  );
  return new Map(found.map(({ path, hashes }) => [path, hashes]));
}
