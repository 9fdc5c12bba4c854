import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A command to be processed, with its pull request. */
export interface CommandState {
  readonly id: string;
  readonly pullRequestId: string;
  readonly bindingId: string;
  readonly pullNumber: number;
  readonly commentId: number;
  readonly commentKind: 'issue' | 'review';
  readonly inReplyTo: number | null;
  readonly command: string;
  readonly argument: string | null;
  readonly sender: string;
  readonly state: string;
  readonly reply: string | null;
}

/** Returns the oldest command of a pull request that is not judged yet, or null when there is none. */
export async function nextCommand(tx: Tx, pullId: string): Promise<string | null> {
  const found = await row<{ id: string }>(
    tx.em,
    "select c.id from review_commands c where c.pull_request_id = ? and c.state = 'queued' order by c.id limit 1",
    [pullId],
  );
  return found?.id ?? null;
}

/** Returns a command by its id, or null when there is none in the transaction's tenant. */
export function readCommandState(tx: Tx, commandId: string): Promise<CommandState | null> {
  return row<CommandState>(
    tx.em,
    `select c.id, c.pull_request_id as "pullRequestId", p.binding_id as "bindingId", p.pull_number as "pullNumber", c.comment_id::float8 as "commentId",
            c.comment_kind as "commentKind", c.in_reply_to::float8 as "inReplyTo", c.command, c.argument, c.sender, c.state, c.reply
       from review_commands c join review_pull_requests p on p.id = c.pull_request_id where c.id = ?`,
    [commandId],
  );
}
