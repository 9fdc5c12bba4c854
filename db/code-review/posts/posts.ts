import type { FindingState } from '../../../workflows/contracts/review/code-review.ts';
import { newId } from '../../ids.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { reviewPostKinds } from './review-post.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

export type ReviewPostKind = (typeof reviewPostKinds)[number];

/** Identifies something that is posted to the host once: the ordinal is the same on each attempt. */
export interface PostKey {
  /** The run or command that it is posted for. */
  readonly ownerId: string;
  readonly kind: ReviewPostKind;
  readonly ordinal: number;
}

export interface PostPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/**
 * `ageMs`: since its last attempt began, by the database's clock; `seen`: identifies this attempt. `fresh`: it has not been tried. `sending`: it has been
 * tried, and the outcome is unknown. `posted`: it is on the host.
 */
export type PostClaim =
  | { readonly state: 'fresh' }
  | { readonly state: 'sending'; readonly since: Date; readonly ageMs: number; readonly seen: string }
  | { readonly state: 'posted'; readonly githubId: string };

/** Records that something is about to be posted, or returns its state. */
export async function claimPost(
  tx: Tx,
  { organizationId, workspaceId }: PostPlace,
  { ownerId, kind, ordinal }: PostKey,
): Promise<PostClaim> {
  const found = await row<{ isNew: boolean; githubId: string | null; since: string; ageMs: number; seen: string }>(
    tx.em,
    `with made as (
       insert into review_posts (id, organization_id, workspace_id, owner_id, kind, ordinal, state, created_at, updated_at)
       values (?, ?, ?, ?, ?, ?, 'sending', now(), now()) on conflict (owner_id, kind, ordinal) do nothing returning created_at)
     select true as "isNew", null as "githubId", created_at as since, 0::float8 as "ageMs", '' as seen from made union all
     select false, case when p.state = 'posted' then coalesce(p.github_id, '') end, p.created_at, (extract(epoch from now() - p.updated_at) * 1000)::float8, p.updated_at::text
       from review_posts p where p.owner_id = ? and p.kind = ? and p.ordinal = ?
     limit 1`,
    [newId(), organizationId, workspaceId, ownerId, kind, ordinal, ownerId, kind, ordinal],
  );
  if (found === null || found.isNew) return { state: 'fresh' };
  return found.githubId === null
    ? { state: 'sending', since: new Date(found.since), ageMs: found.ageMs, seen: found.seen }
    : { state: 'posted', githubId: found.githubId };
}

/** Begins another attempt for a post that the host does not have. Returns false when another attempt has begun since. */
export async function retakePost(tx: Tx, { ownerId, kind, ordinal }: PostKey, seen: string): Promise<boolean> {
  const taken = await rows(
    tx.em,
    `update review_posts set updated_at = clock_timestamp() where owner_id = ? and kind = ? and ordinal = ? and state = 'sending' and updated_at::text = ? returning id`,
    [ownerId, kind, ordinal, seen],
  );
  return taken.length > 0;
}

/** Releases a claim whose request was not sent: the next attempt need not ask the host. */
export async function releasePost(tx: Tx, { ownerId, kind, ordinal }: PostKey): Promise<void> {
  await rows(tx.em, `delete from review_posts where owner_id = ? and kind = ? and ordinal = ? and state = 'sending'`, [
    ownerId,
    kind,
    ordinal,
  ]);
}

/** Records that it is on the host, under its id there. Returns false when that was recorded before. */
export async function settlePost(tx: Tx, { ownerId, kind, ordinal }: PostKey, githubId: number | string): Promise<boolean> {
  const settled = await rows(
    tx.em,
    `update review_posts set state = 'posted', github_id = ?, updated_at = now() where owner_id = ? and kind = ? and ordinal = ? and state = 'sending' returning id`,
    [String(githubId), ownerId, kind, ordinal],
  );
  return settled.length > 0;
}

/** Records a post that may safely be sent again: no claim was recorded before it. */
export async function keepPosted(tx: Tx, place: PostPlace, { ownerId, kind, ordinal }: PostKey, githubId: number): Promise<void> {
  await rows(
    tx.em,
    `insert into review_posts (id, organization_id, workspace_id, owner_id, kind, ordinal, state, github_id, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, 'posted', ?, now(), now())
     on conflict (owner_id, kind, ordinal) do update set state = 'posted', github_id = excluded.github_id, updated_at = now()`,
    [newId(), place.organizationId, place.workspaceId, ownerId, kind, ordinal, String(githubId)],
  );
}

/** Stores which review on the host holds the summary of a pull request, and the hash of its text. */
export async function keepSummary(
  tx: Tx,
  pullRequestId: string,
  { reviewId, sha256 }: { readonly reviewId: number; readonly sha256: string },
): Promise<void> {
  await rows(tx.em, 'update review_pull_requests set summary_review_id = ?, summary_sha256 = ?, updated_at = now() where id = ?', [
    reviewId,
    sha256,
    pullRequestId,
  ]);
}

/** Stores the ids of the comments under which findings are on the host. */
export async function keepCommentIds(
  tx: Tx,
  pullRequestId: string,
  comments: readonly { readonly fingerprint: string; readonly commentId: number }[],
): Promise<void> {
  if (comments.length === 0) return;
  await rows(
    tx.em,
    `update review_findings f set comment_id = c."commentId", updated_at = now()
       from jsonb_to_recordset(?::jsonb) as c(fingerprint text, "commentId" bigint)
      where f.pull_request_id = ? and f.fingerprint = c.fingerprint and f.comment_id is distinct from c."commentId"`,
    [JSON.stringify(comments), pullRequestId],
  );
}

/** Counts a push of the pull request's editor. */
export async function countPush(tx: Tx, pullRequestId: string): Promise<void> {
  await rows(tx.em, 'update review_pull_requests set editor_rounds = editor_rounds + 1, updated_at = now() where id = ?', [pullRequestId]);
}

/** A finding as its comment on the host describes it. */
export interface FindingReadBack {
  readonly fingerprint: string;
  readonly commentId: number;
  readonly threadId: string | null;
  readonly state: FindingState;
  readonly category: string;
  readonly severity: string;
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly startLine: number;
  readonly endLine: number;
  readonly placement: 'inline' | 'file';
  readonly title: string;
  readonly scenario: string;
  readonly evidence: string;
}

/** Stores findings in a ledger that has lost them; existing ones stay as they are. Returns how many were stored. */
export async function keepReadBack(
  tx: Tx,
  { pullRequestId, runId, headSha }: { readonly pullRequestId: string; readonly runId: string; readonly headSha: string },
  findings: readonly FindingReadBack[],
): Promise<number> {
  if (findings.length === 0) return 0;
  const written = await rows(
    tx.em,
    `insert into review_findings (id, organization_id, workspace_id, pull_request_id, fingerprint, category, severity, confidence, path, side, start_line, end_line, title, scenario,
       evidence, state, placement, comment_id, thread_id, also_at, first_run_id, first_head_sha, last_head_sha, created_at, updated_at)
     select c.id, p.organization_id, p.workspace_id, p.id, c.fingerprint, c.category, c.severity, 1, c.path, c.side, c."startLine", c."endLine", c.title, c.scenario,
            c.evidence, c.state, c.placement, c."commentId", c."threadId", '[]', ?, ?, ?, now(), now()
       from review_pull_requests p, jsonb_to_recordset(?::jsonb) as c(id uuid, fingerprint text, category text, severity text, path text, side text, "startLine" int,
            "endLine" int, title text, scenario text, state text, placement text, "commentId" bigint, "threadId" text, evidence text)
      where p.id = ? on conflict (pull_request_id, fingerprint) do nothing returning id`,
    [runId, headSha, headSha, JSON.stringify(findings.map((finding) => ({ id: newId(), ...finding }))), pullRequestId],
  );
  return written.length;
}
