import { sql } from 'kysely';
import { literals, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
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

interface CommandRow extends NewCommand {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly pullRequestId: string;
}

const inserting = prepared((command: ParametersOf<CommandRow>) =>
  query
    .insertInto('review_commands')
    .values({ ...command, reason: null, reply: null, runId: null })
    .onConflict((conflict) => conflict.columns(['pullRequestId', 'commentId', 'textSha256']).doNothing()),
);

/** Stores a command, once per comment and text. */
export async function insertCommand(
  tx: Tx,
  pull: { readonly id: string; readonly organizationId: string; readonly workspaceId: string },
  { commentId, commentKind, inReplyTo, command, argument, textSha256, sender }: NewCommand,
): Promise<void> {
  const of = { id: newId(), organizationId: pull.organizationId, workspaceId: pull.workspaceId, pullRequestId: pull.id };
  await change(tx.em, inserting({ ...of, commentId, commentKind, inReplyTo, command, argument, textSha256, sender }));
}

interface Withdrawn {
  readonly pullId: string;
  readonly commentId: number;
  readonly keep: string | null;
}

const withdrawing = prepared(({ pullId, commentId, keep }: ParametersOf<Withdrawn>) =>
  query
    .updateTable('review_commands')
    .set({ state: 'cancelled', argument: null, updatedAt: now })
    .where('pullRequestId', '=', pullId)
    .where('commentId', '=', commentId)
    .where('state', 'in', literals('queued', 'accepted'))
    .where('textSha256', 'is distinct from', keep)
    .returning('runId'),
);

/** Cancels the commands of a comment that are not completed, except the one that the comment still contains. Returns the runs that they had requested. */
export async function withdrawCommands(tx: Tx, pullId: string, { commentId, keep }: Omit<Withdrawn, 'pullId'>): Promise<string[]> {
  const withdrawn = await rows(tx.em, withdrawing({ pullId, commentId, keep }));
  return withdrawn.flatMap(({ runId }) => runId ?? []);
}

const settling = prepared(
  ({ commandId, state, reason, runId, reply }: ParametersOf<Required<CommandEnd> & { readonly commandId: string }>) =>
    query
      .updateTable('review_commands')
      .set(({ ref }) => ({
        state,
        reason,
        runId,
        reply,
        argument: sql<string | null>`case when ${state} = 'accepted' then ${ref('argument')} end`,
        updatedAt: now,
      }))
      .where('id', '=', commandId)
      .where('state', '=', 'queued'),
);

/** Stores the outcome of a queued command; returns false when it was judged already. Its argument stays for its run. */
export async function settleCommand(
  tx: Tx,
  commandId: string,
  { state, reason = null, runId = null, reply = null }: CommandEnd,
): Promise<boolean> {
  return (await change(tx.em, settling({ commandId, state, reason, runId, reply }))) > 0;
}

/** How a command was judged. `accepted`: its run does it; `done`: it is done; `refused`: its sender may not give it, or it is impossible. */
export interface CommandEnd {
  readonly state: 'accepted' | 'done' | 'refused';
  readonly reason?: string | null;
  readonly runId?: string | null;
  /** The reply to it; null: none. */
  readonly reply?: string | null;
}
