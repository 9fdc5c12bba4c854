import type { FindingState } from '../../../workflows/contracts/review/code-review.ts';
import { newId } from '../../ids.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { LedgerRow } from './ledger.ts';

/** Locks the row of a pull request; every writer of its ledger locks it before anything else. */
export async function lockPullRow(tx: TenantTransaction, pullRequestId: string): Promise<void> {
  await row(tx.em, 'select id from review_pull_requests where id = ? for no key update', [pullRequestId]);
}

/** A finding as a review leaves it. */
export type FindingToKeep = Omit<LedgerRow, 'id' | 'state' | 'commentId' | 'firstHeadSha' | 'lastHeadSha'>;

/** A completed review, for the ledger of its pull request. */
export interface ReviewToKeep {
  readonly runId: string;
  readonly pullRequestId: string;
  readonly headSha: string;
  readonly findings: readonly FindingToKeep[];
  /** Ids of findings that were open so far, by their new state. */
  readonly carried: readonly string[];
  readonly fixed: readonly string[];
  readonly outdated: readonly string[];
}

/**
 * Stores findings of a review: new ones are open; recurring ones are open again. An existing finding keeps its comment and the run that found it first, and one
 * that a person dismissed meanwhile stays dismissed.
 */
export async function keepFindings(tx: TenantTransaction, { runId, pullRequestId, headSha, ...review }: ReviewToKeep): Promise<void> {
  if (review.findings.length > 0) {
    await rows(
      tx.em,
      `insert into review_findings as f (id, organization_id, workspace_id, pull_request_id, fingerprint, rule_id, category, severity, confidence, path, side, start_line,
         end_line, title, scenario, evidence, suggestion, state, placement, also_at, first_run_id, first_head_sha, last_head_sha, created_at, updated_at)
       select c.id, p.organization_id, p.workspace_id, p.id, c.fingerprint, c."ruleId", c.category, c.severity, c.confidence, c.path, c.side, c."startLine",
              c."endLine", c.title, c.scenario, c.evidence, c.suggestion, 'open', c.placement, c."alsoAt", ?, ?, ?, now(), now()
         from review_pull_requests p, jsonb_to_recordset(?::jsonb) as c(id uuid, fingerprint text, "ruleId" text, category text, severity text, confidence numeric, path text,
              side text, "startLine" int, "endLine" int, title text, scenario text, evidence text, suggestion text, placement text, "alsoAt" jsonb)
        where p.id = ?
       on conflict (pull_request_id, fingerprint) do update
         set state = case when f.state = 'dismissed' then f.state else 'open' end, last_head_sha = excluded.last_head_sha, path = excluded.path, start_line = excluded.start_line,
             end_line = excluded.end_line, also_at = excluded.also_at, placement = case when f.comment_id is null then excluded.placement else f.placement end, updated_at = now()`,
      [runId, headSha, headSha, JSON.stringify(review.findings.map((finding) => ({ id: newId(), ...finding }))), pullRequestId],
    );
  }
  await move(tx, { pullRequestId, headSha }, { ids: review.carried, to: 'open' });
  await move(tx, { pullRequestId, headSha }, { ids: review.fixed, to: 'fixed' });
  await move(tx, { pullRequestId, headSha }, { ids: review.outdated, to: 'outdated' });
}

/** Only open findings change: a dismissal in between stays. */
async function move(
  tx: TenantTransaction,
  { pullRequestId, headSha }: Pick<ReviewToKeep, 'pullRequestId' | 'headSha'>,
  { ids, to }: { readonly ids: readonly string[]; readonly to: FindingState },
): Promise<void> {
  if (ids.length === 0) return;
  await rows(
    tx.em,
    `update review_findings set state = ?, last_head_sha = ?, updated_at = now() where pull_request_id = ? and id = any (?::uuid[]) and state = 'open'`,
    [to, headSha, pullRequestId, [...ids]],
  );
}

/** The state from which the next review of the pull request begins. */
export interface ReviewedHeadToKeep {
  readonly pullRequestId: string;
  readonly headSha: string;
  readonly mergeBaseSha: string;
  readonly baseRef: string;
  readonly playbookRevisionId: string;
  readonly hashes: Readonly<Record<string, readonly string[]>>;
}

/** Replaces the judged hunks by those judged now. */
export async function keepReviewedHead(tx: TenantTransaction, reviewed: ReviewedHeadToKeep): Promise<void> {
  const { pullRequestId } = reviewed;
  const files = Object.entries(reviewed.hashes).map(([path, hashes]) => ({ path, hashes }));
  await row(
    tx.em,
    `update review_pull_requests set last_head_sha = ?, last_merge_base_sha = ?, last_base_ref = ?, last_playbook_revision_id = ?, updated_at = now() where id = ?`,
    [reviewed.headSha, reviewed.mergeBaseSha, reviewed.baseRef, reviewed.playbookRevisionId, pullRequestId],
  );
  await rows(tx.em, 'delete from review_files where pull_request_id = ? and path <> all (?)', [
    pullRequestId,
    files.map(({ path }) => path),
  ]);
  await rows(
    tx.em,
    `insert into review_files (pull_request_id, path, organization_id, workspace_id, hunk_hashes, created_at)
     select p.id, c.path, p.organization_id, p.workspace_id, array(select jsonb_array_elements_text(c.hashes)), now()
       from review_pull_requests p, jsonb_to_recordset(?::jsonb) as c(path text, hashes jsonb) where p.id = ?
     on conflict (pull_request_id, path) do update set hunk_hashes = excluded.hunk_hashes`,
    [JSON.stringify(files), pullRequestId],
  );
}
