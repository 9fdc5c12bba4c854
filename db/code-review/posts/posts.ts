import { type ExpressionBuilder, sql } from 'kysely';
import type { FindingCategory, FindingState, Severity } from '../../../workflows/contracts/review/code-review.ts';
import { clockTime, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { recordset, recordsetText } from '../../recordset.ts';
import { change, row } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { insertFindings, type NewFinding, type NewFindings } from '../findings/insert-findings.ts';
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

type NewPost = PostKey & PostPlace & { readonly id: string };

/** The columns of a new post, besides its state and its id on the host. */
function newPost({ id, organizationId, workspaceId, ownerId, kind, ordinal }: ParametersOf<NewPost>) {
  return { id, organizationId, workspaceId, ownerId, kind, ordinal, createdAt: now, updatedAt: now };
}

const claiming = prepared((post: ParametersOf<NewPost>) =>
  query
    .with('made', (of) =>
      of
        .insertInto('review_posts')
        .values({ ...newPost(post), state: 'sending', githubId: null })
        .onConflict((conflict) => conflict.columns(['ownerId', 'kind', 'ordinal']).doNothing())
        .returning('createdAt'),
    )
    .selectFrom('made')
    .select([sql<boolean>`true`.as('isNew'), sql<string | null>`null::text`.as('githubId'), 'made.createdAt as since'])
    .select([sql<number>`0::float8`.as('ageMs'), sql<string>`''`.as('seen')])
    .unionAll(({ selectFrom }) =>
      selectFrom('review_posts as p')
        .select(({ ref }) => [
          sql<boolean>`false`.as('isNew'),
          sql<string | null>`case when ${ref('p.state')} = 'posted' then coalesce(${ref('p.githubId')}, '') end`.as('githubId'),
          'p.createdAt as since',
          sql<number>`(extract(epoch from now() - ${ref('p.updatedAt')}) * 1000)::float8`.as('ageMs'),
          sql<string>`${ref('p.updatedAt')}::text`.as('seen'),
        ])
        .where('p.ownerId', '=', post.ownerId)
        .where('p.kind', '=', post.kind)
        .where('p.ordinal', '=', post.ordinal),
    )
    .limit(1),
);

/** Records that something is about to be posted, or returns its state. */
export async function claimPost(
  tx: Tx,
  { organizationId, workspaceId }: PostPlace,
  { ownerId, kind, ordinal }: PostKey,
): Promise<PostClaim> {
  const found = await row(tx.em, claiming({ id: newId(), organizationId, workspaceId, ownerId, kind, ordinal }));
  if (found === null || found.isNew) return { state: 'fresh' };
  return found.githubId === null
    ? { state: 'sending', since: new Date(found.since), ageMs: found.ageMs, seen: found.seen }
    : { state: 'posted', githubId: found.githubId };
}

/** The post while its outcome is unknown. */
function beingSent({ ownerId, kind, ordinal }: ParametersOf<PostKey>) {
  return ({ and }: ExpressionBuilder<Tables, 'review_posts'>) => and({ ownerId, kind, ordinal, state: 'sending' });
}

const retaking = prepared(({ seen, ...key }: ParametersOf<PostKey & { readonly seen: string }>) =>
  query
    .updateTable('review_posts')
    .set({ updatedAt: clockTime })
    .where(beingSent(key))
    .where(({ ref }) => sql<boolean>`${ref('updatedAt')}::text = ${seen}`),
);

/** Begins another attempt for a post that the host does not have. Returns false when another attempt has begun since. */
export async function retakePost(tx: Tx, { ownerId, kind, ordinal }: PostKey, seen: string): Promise<boolean> {
  return (await change(tx.em, retaking({ ownerId, kind, ordinal, seen }))) > 0;
}

const releasing = prepared((key: ParametersOf<PostKey>) => query.deleteFrom('review_posts').where(beingSent(key)));

/** Releases a claim whose request was not sent: the next attempt need not ask the host. */
export async function releasePost(tx: Tx, { ownerId, kind, ordinal }: PostKey): Promise<void> {
  await change(tx.em, releasing({ ownerId, kind, ordinal }));
}

const settling = prepared(({ githubId, ...key }: ParametersOf<PostKey & { readonly githubId: string }>) =>
  query.updateTable('review_posts').set({ state: 'posted', githubId, updatedAt: now }).where(beingSent(key)),
);

/** Records that it is on the host, under its id there. Returns false when that was recorded before. */
export async function settlePost(tx: Tx, { ownerId, kind, ordinal }: PostKey, githubId: number | string): Promise<boolean> {
  return (await change(tx.em, settling({ ownerId, kind, ordinal, githubId: String(githubId) }))) > 0;
}

const keeping = prepared((post: ParametersOf<NewPost & { readonly githubId: string }>) =>
  query
    .insertInto('review_posts')
    .values({ ...newPost(post), state: 'posted', githubId: post.githubId })
    .onConflict((conflict) =>
      conflict
        .columns(['ownerId', 'kind', 'ordinal'])
        .doUpdateSet(({ ref }) => ({ state: 'posted', githubId: ref('excluded.githubId'), updatedAt: now })),
    ),
);

/** Records a post that may safely be sent again: no claim was recorded before it. */
export async function keepPosted(
  tx: Tx,
  { organizationId, workspaceId }: PostPlace,
  { ownerId, kind, ordinal }: PostKey,
  githubId: number,
): Promise<void> {
  await change(tx.em, keeping({ id: newId(), organizationId, workspaceId, ownerId, kind, ordinal, githubId: String(githubId) }));
}

/** The review on the host that holds the summary of a pull request, and the hash of its text. */
interface Summary {
  readonly reviewId: number;
  readonly sha256: string;
}

const keepingSummary = prepared(({ pullRequestId, reviewId, sha256 }: ParametersOf<Summary & { readonly pullRequestId: string }>) =>
  query
    .updateTable('review_pull_requests')
    .set({ summaryReviewId: reviewId, summarySha256: sha256, updatedAt: now })
    .where('id', '=', pullRequestId),
);

/** Stores which review on the host holds the summary of a pull request, and the hash of its text. */
export async function keepSummary(tx: Tx, pullRequestId: string, { reviewId, sha256 }: Summary): Promise<void> {
  await change(tx.em, keepingSummary({ pullRequestId, reviewId, sha256 }));
}

/** The comment under which a finding is on the host. */
interface FindingComment {
  readonly fingerprint: string;
  readonly commentId: number;
}

const keepingIds = prepared(({ pullRequestId, comments }: ParametersOf<{ readonly pullRequestId: string; readonly comments: string }>) =>
  query
    .updateTable('review_findings')
    .from(recordset<FindingComment>(comments, { fingerprint: 'text', commentId: 'bigint' }).as('c'))
    .set(({ ref }) => ({ commentId: ref('c.commentId'), updatedAt: now }))
    .where('pullRequestId', '=', pullRequestId)
    .whereRef('review_findings.fingerprint', '=', 'c.fingerprint')
    .whereRef('review_findings.commentId', 'is distinct from', 'c.commentId'),
);

/** Stores the ids of the comments under which findings are on the host. */
export async function keepCommentIds(tx: Tx, pullRequestId: string, comments: readonly FindingComment[]): Promise<void> {
  if (comments.length > 0) await change(tx.em, keepingIds({ pullRequestId, comments: recordsetText(comments) }));
}

const countingPush = prepared(({ pullRequestId }: ParametersOf<{ readonly pullRequestId: string }>) =>
  query
    .updateTable('review_pull_requests')
    .set(({ eb }) => ({ editorRounds: eb('editorRounds', '+', 1), updatedAt: now }))
    .where('id', '=', pullRequestId),
);

/** Counts a push of the pull request's editor. */
export async function countPush(tx: Tx, pullRequestId: string): Promise<void> {
  await change(tx.em, countingPush({ pullRequestId }));
}

/** A finding as its comment on the host describes it. */
export interface FindingReadBack {
  readonly fingerprint: string;
  readonly commentId: number;
  readonly threadId: string | null;
  readonly state: FindingState;
  readonly category: FindingCategory;
  readonly severity: Severity;
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly startLine: number;
  readonly endLine: number;
  readonly placement: 'inline' | 'file';
  readonly title: string;
  readonly scenario: string;
  readonly evidence: string;
}

const keepingReadBack = prepared((found: ParametersOf<NewFindings>) =>
  insertFindings(found).onConflict((conflict) => conflict.columns(['pullRequestId', 'fingerprint']).doNothing()),
);

/** Stores findings in a ledger that has lost them; existing ones stay as they are. Returns how many were stored. */
export async function keepReadBack(
  tx: Tx,
  { pullRequestId, runId, headSha }: Omit<NewFindings, 'findings'>,
  findings: readonly FindingReadBack[],
): Promise<number> {
  if (findings.length === 0) return 0;
  const unknown = { ruleId: null, confidence: '1', suggestion: null, alsoAt: [] };
  const made = findings.map((finding): NewFinding => ({ id: newId(), ...finding, ...unknown }));
  return change(tx.em, keepingReadBack({ pullRequestId, runId, headSha, findings: recordsetText(made) }));
}
