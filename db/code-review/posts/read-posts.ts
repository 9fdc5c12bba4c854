import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Returns what a run has posted to the host, by kind and in order. */
export function readPosted(
  tx: Pick<TenantTransaction, 'em'>,
  ownerId: string,
): Promise<{ kind: string; ordinal: number; githubId: string | null }[]> {
  return rows(
    tx.em,
    `select kind, ordinal, github_id as "githubId" from review_posts where owner_id = ? and state = 'posted' order by kind, ordinal`,
    [ownerId],
  );
}

/** Returns the findings of a pull request that have a comment, with id and fingerprint. */
export function readCommented(
  tx: Tx,
  pullRequestId: string,
): Promise<{ readonly id: string; readonly fingerprint: string; readonly commentId: number; readonly threadId: string | null }[]> {
  return rows(
    tx.em,
    `select id, fingerprint, comment_id::float8 as "commentId", thread_id as "threadId" from review_findings where pull_request_id = ? and comment_id is not null order by id`,
    [pullRequestId],
  );
}

/** Returns the head that a run reviews, or null when it has not been read yet. */
export async function readReviewHead(tx: Tx, runId: string): Promise<string | null> {
  const found = await row<{ headSha: string | null }>(tx.em, 'select review_head_sha as "headSha" from runs where id = ?', [runId]);
  return found?.headSha ?? null;
}

/** Whether the binding of a run has an editor: then its checks have a button. */
export async function hasEditor(tx: Tx, bindingId: string): Promise<boolean> {
  const found = await row<{ hasEditor: boolean }>(
    tx.em,
    `select editor_agent_id is not null and editor_config ->> 'mode' <> 'off' as "hasEditor" from repo_bindings where id = ?`,
    [bindingId],
  );
  return found?.hasEditor ?? false;
}

/** A pull request that is closed and whose reactions are due. */
export interface ReactionsDue {
  readonly pullRequestId: string;
  /** Some of its findings have comments. */
  readonly hasComments: boolean;
}

/** Returns a closed pull request of the transaction's tenant whose reactions are due, or null when they are not. */
export function reactionsDue(
  tx: Tx,
  { bindingId, pullNumber }: { readonly bindingId: string; readonly pullNumber: number },
): Promise<ReactionsDue | null> {
  return row<ReactionsDue>(
    tx.em,
    `select p.id as "pullRequestId", exists (select from review_findings f where f.pull_request_id = p.id and f.comment_id is not null) as "hasComments"
       from review_pull_requests p where p.binding_id = ? and p.pull_number = ? and p.state = 'closed' and p.due_at <= now()`,
    [bindingId, pullNumber],
  );
}
