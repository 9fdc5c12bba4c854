import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { PostPlace } from './posts.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A processed command, with what is needed to reply to it on the host. */
export interface CommandPost extends PostPlace {
  readonly id: string;
  readonly bindingId: string;
  readonly pullNumber: number;
  readonly commentId: number;
  readonly commentKind: 'issue' | 'review';
  /** The comment that begins its thread; null: it begins one itself, or is in the conversation. */
  readonly inReplyTo: number | null;
  readonly state: string;
  readonly reply: string | null;
}

/** Returns a command of the transaction's tenant, or null when it is deleted. */
export function readCommandPost(tx: Tx, commandId: string): Promise<CommandPost | null> {
  return row<CommandPost>(
    tx.em,
    `select c.id, c.organization_id as "organizationId", c.workspace_id as "workspaceId", p.binding_id as "bindingId", p.pull_number as "pullNumber",
            c.comment_id::float8 as "commentId", c.comment_kind as "commentKind", c.in_reply_to::float8 as "inReplyTo", c.state, c.reply
       from review_commands c join review_pull_requests p on p.id = c.pull_request_id where c.id = ?`,
    [commandId],
  );
}

/** Returns the comments of a pull request whose findings a person has dismissed. */
export function readDismissedComments(
  tx: Tx,
  { bindingId, pullNumber }: { readonly bindingId: string; readonly pullNumber: number },
): Promise<{ readonly commentId: number }[]> {
  return rows(
    tx.em,
    `select f.comment_id::float8 as "commentId" from review_findings f join review_pull_requests p on p.id = f.pull_request_id
      where p.binding_id = ? and p.pull_number = ? and f.state = 'dismissed' and f.comment_id is not null order by f.id`,
    [bindingId, pullNumber],
  );
}
