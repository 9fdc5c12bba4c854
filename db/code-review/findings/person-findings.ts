import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/**
 * Applies that a person has resolved or reopened a thread: an open finding whose code is unchanged is dismissed; a dismissed one is opened again. When the
 * thread is resolved after the code has changed, the finding is left to the next review, which sees whether it is fixed.
 */
export async function followThread(
  tx: Tx,
  { pullId, headSha }: { readonly pullId: string; readonly headSha: string | null },
  {
    isResolved,
    threadId,
    commentIds,
  }: { readonly isResolved: boolean; readonly threadId: string | null; readonly commentIds: readonly number[] },
): Promise<void> {
  const isOfThread = '(thread_id = ? or comment_id = any (?::bigint[]))';
  if (isResolved)
    await change(
      tx.em,
      `update review_findings set state = 'dismissed', updated_at = now()
        where pull_request_id = ? and ${isOfThread} and state = 'open' and (?::text is null or last_head_sha = ?)`,
      [pullId, threadId, [...commentIds], headSha, headSha],
    );
  else
    await change(
      tx.em,
      `update review_findings set state = 'open', updated_at = now() where pull_request_id = ? and ${isOfThread} and state = 'dismissed'`,
      [pullId, threadId, [...commentIds]],
    );
}

/** Whether a review on the host was posted by a run of this pull request. */
export async function isOurReview(tx: Tx, pullId: string, reviewId: number): Promise<boolean> {
  const found = await row<{ id: string }>(
    tx.em,
    `select p.id from review_posts p join runs r on r.id = p.owner_id
      where r.review_pull_request_id = ? and p.kind in ('review', 'summary') and p.github_id = ? limit 1`,
    [pullId, String(reviewId)],
  );
  return found !== null;
}

/** Returns a finding of a pull request by its id, the start of its fingerprint, or its comment, or null when there is none. */
export function findFinding(
  tx: Tx,
  pullId: string,
  { name, commentId }: { readonly name: string | null; readonly commentId: number | null },
): Promise<{ readonly id: string; readonly state: string; readonly title: string } | null> {
  return row(
    tx.em,
    `select f.id, f.state, f.title from review_findings f
      where f.pull_request_id = ? and (f.id::text = ? or (length(?) >= 8 and starts_with(f.fingerprint, ?)) or f.comment_id = ?)
      order by f.comment_id = ? desc nulls last limit 1`,
    [pullId, name ?? '', name ?? '', name ?? '', commentId, commentId],
  );
}

/** Dismisses open and outdated findings: one, or with null all of them. Returns how many. */
export function dismissFindings(tx: Tx, pullId: string, findingId: string | null): Promise<number> {
  return change(
    tx.em,
    `update review_findings set state = 'dismissed', updated_at = now()
      where pull_request_id = ? and state in ('open', 'outdated') and (?::uuid is null or id = ?::uuid)`,
    [pullId, findingId, findingId],
  );
}
