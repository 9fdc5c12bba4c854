import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

interface FollowedThread {
  readonly pullId: string;
  readonly threadId: string | null;
  readonly commentIds: readonly number[];
}

/** Changes the state of the findings of a thread. */
function moveThread({ pullId, threadId, commentIds }: ParametersOf<FollowedThread>, from: 'open' | 'dismissed', to: 'open' | 'dismissed') {
  return query
    .updateTable('review_findings')
    .set({ state: to, updatedAt: now })
    .where('pullRequestId', '=', pullId)
    .where(({ eb, or }) => or([eb('threadId', '=', threadId), eb('commentId', '=', sql<number>`any(${commentIds}::bigint[])`)]))
    .where('state', '=', from);
}

const resolving = prepared(({ headSha, ...thread }: ParametersOf<FollowedThread & { readonly headSha: string | null }>) =>
  moveThread(thread, 'open', 'dismissed').where(({ eb, or }) =>
    or([sql<boolean>`${headSha}::text is null`, eb('lastHeadSha', '=', headSha)]),
  ),
);
const reopening = prepared((thread: ParametersOf<FollowedThread>) => moveThread(thread, 'dismissed', 'open'));

/**
 * Applies that a person has resolved or reopened a thread: an open finding whose code is unchanged is dismissed; a dismissed one is opened again. When the
 * thread is resolved after the code has changed, the finding is left to the next review, which sees whether it is fixed.
 */
export async function followThread(
  tx: Tx,
  { pullId, headSha }: { readonly pullId: string; readonly headSha: string | null },
  { isResolved, threadId, commentIds }: Omit<FollowedThread, 'pullId'> & { readonly isResolved: boolean },
): Promise<void> {
  const thread = { pullId, threadId, commentIds: [...commentIds] };
  await change(tx.em, isResolved ? resolving({ ...thread, headSha }) : reopening(thread));
}

const ourReview = prepared(({ pullId, reviewId }: ParametersOf<{ readonly pullId: string; readonly reviewId: string }>) =>
  query
    .selectFrom('review_posts as p')
    .innerJoin('runs as r', 'r.id', 'p.ownerId')
    .select('p.id')
    .where('r.reviewPullRequestId', '=', pullId)
    .where('p.kind', 'in', ['review', 'summary'])
    .where('p.githubId', '=', reviewId)
    .limit(1),
);

/** Whether a review on the host was posted by a run of this pull request. */
export async function isOurReview(tx: Tx, pullId: string, reviewId: number): Promise<boolean> {
  return (await row(tx.em, ourReview({ pullId, reviewId: String(reviewId) }))) !== null;
}

interface FindingName {
  readonly pullId: string;
  readonly name: string;
  readonly commentId: number | null;
}

const namedFinding = prepared(({ pullId, name, commentId }: ParametersOf<FindingName>) =>
  query
    .selectFrom('review_findings as f')
    .select(['f.id', 'f.state', 'f.title'])
    .where('f.pullRequestId', '=', pullId)
    .where(({ eb, or, ref }) =>
      or([
        sql<boolean>`${ref('f.id')}::text = ${name}`,
        sql<boolean>`(length(${name}) >= 8 and starts_with(${ref('f.fingerprint')}, ${name}))`,
        eb('f.commentId', '=', commentId),
      ]),
    )
    .orderBy(
      ({ eb }) => eb('f.commentId', '=', commentId),
      (order) => order.desc().nullsLast(),
    )
    .limit(1),
);

/** Returns a finding of a pull request by its id, the start of its fingerprint, or its comment, or null when there is none. */
export function findFinding(
  tx: Tx,
  pullId: string,
  { name, commentId }: { readonly name: string | null; readonly commentId: number | null },
) {
  return row(tx.em, namedFinding({ pullId, name: name ?? '', commentId }));
}

const dismissing = prepared(({ pullId, findingId }: ParametersOf<{ readonly pullId: string; readonly findingId: string | undefined }>) => {
  const dismissed = query
    .updateTable('review_findings')
    .set({ state: 'dismissed', updatedAt: now })
    .where('pullRequestId', '=', pullId)
    .where('state', 'in', ['open', 'outdated']);
  return findingId ? dismissed.where('id', '=', findingId) : dismissed;
});

/** Dismisses open and outdated findings: one, or with null all of them. Returns how many. */
export function dismissFindings(tx: Tx, pullId: string, findingId: string | null): Promise<number> {
  return change(tx.em, dismissing({ pullId, findingId: findingId ?? undefined }));
}
