import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** How people have reacted to a comment. */
export interface CommentReactions {
  readonly id: number;
  readonly reactionsUp: number;
  readonly reactionsDown: number;
}

/** Stores people's reactions to the comments of a pull request. */
export async function storeReactions(tx: Tx, pullRequestId: string, comments: readonly CommentReactions[]): Promise<void> {
  await rows(
    tx.em,
    `update review_findings f set reactions_up = c."reactionsUp", reactions_down = c."reactionsDown", updated_at = now()
       from jsonb_to_recordset(?::jsonb) as c(id bigint, "reactionsUp" int, "reactionsDown" int)
      where f.pull_request_id = ? and f.comment_id = c.id and (f.reactions_up, f.reactions_down) is distinct from (c."reactionsUp", c."reactionsDown")`,
    [JSON.stringify(comments), pullRequestId],
  );
}

/** Sets when the reactions to a closed pull request are read next: `days` after it was closed if that is in the future, otherwise never. */
export async function readAgainAfter(tx: Tx, pullRequestId: string, days: number): Promise<void> {
  await rows(
    tx.em,
    `update review_pull_requests set due_at = case when closed_at + make_interval(days => ?) > now() then closed_at + make_interval(days => ?) end, updated_at = now()
      where id = ? and state = 'closed'`,
    [days, days, pullRequestId],
  );
}

/** Postpones the reading by an hour, until `days` after the pull request was closed. */
export async function putReadingOff(tx: Tx, pullRequestId: string, days: number): Promise<void> {
  await rows(
    tx.em,
    `update review_pull_requests set due_at = case when closed_at + make_interval(days => ?) > now() then now() + interval '1 hour' end, updated_at = now()
      where id = ? and state = 'closed'`,
    [days, pullRequestId],
  );
}
