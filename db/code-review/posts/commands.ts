import { newId } from '../../ids.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A command of a comment, to be stored. */
export interface NewCommand {
  readonly commentId: number;
  readonly commentKind: 'issue' | 'review';
  readonly inReplyTo: number | null;
  readonly command: string;
  readonly argument: string | null;
  readonly textSha256: string;
  readonly sender: string;
}

/** Stores a command, once per comment and text. */
export async function insertCommand(
  tx: Tx,
  pull: { readonly id: string; readonly organizationId: string; readonly workspaceId: string },
  made: NewCommand,
): Promise<void> {
  await change(
    tx.em,
    `insert into review_commands (id, organization_id, workspace_id, pull_request_id, comment_id, comment_kind, in_reply_to, command, argument, text_sha256, sender)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (pull_request_id, comment_id, text_sha256) do nothing`,
    [
      newId(),
      pull.organizationId,
      pull.workspaceId,
      pull.id,
      made.commentId,
      made.commentKind,
      made.inReplyTo,
      made.command,
      made.argument,
      made.textSha256,
      made.sender,
    ],
  );
}

/** Cancels the commands of a comment that are not completed, except the one that the comment still contains. Returns the runs that they had requested. */
export async function withdrawCommands(
  tx: Tx,
  pullId: string,
  { commentId, keep }: { readonly commentId: number; readonly keep: string | null },
): Promise<string[]> {
  const withdrawn = await rows<{ run_id: string | null }>(
    tx.em,
    `update review_commands set state = 'cancelled', argument = null, updated_at = now()
      where pull_request_id = ? and comment_id = ? and state in ('queued', 'accepted') and text_sha256 is distinct from ? returning run_id`,
    [pullId, commentId, keep],
  );
  return withdrawn.flatMap(({ run_id: runId }) => runId ?? []);
}

/** Stores the outcome of a queued command; returns false when it was judged already. Its argument stays for its run. */
export async function settleCommand(
  tx: Tx,
  commandId: string,
  { state, reason = null, runId = null, reply = null }: CommandEnd,
): Promise<boolean> {
  const settled = await change(
    tx.em,
    `update review_commands set state = ?, reason = ?, run_id = ?, reply = ?, argument = case when ? = 'accepted' then argument end, updated_at = now()
      where id = ? and state = 'queued'`,
    [state, reason, runId, reply, state, commandId],
  );
  return settled > 0;
}

/** How a command was judged. `accepted`: its run does it; `done`: it is done; `refused`: its sender may not give it, or it is impossible. */
export interface CommandEnd {
  readonly state: 'accepted' | 'done' | 'refused';
  readonly reason?: string | null;
  readonly runId?: string | null;
  /** The reply to it; null: none. */
  readonly reply?: string | null;
}
