import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A command to be processed, with its pull request. */
export type CommandState = NonNullable<Awaited<ReturnType<typeof readCommandState>>>;

const oldestQueued = prepared(({ pullId }: ParametersOf<{ readonly pullId: string }>) =>
  query
    .selectFrom('review_commands as c')
    .select('c.id')
    .where('c.pullRequestId', '=', pullId)
    .where('c.state', '=', sql.lit('queued'))
    .orderBy('c.id')
    .limit(1),
);

/** Returns the oldest command of a pull request that is not judged yet, or null when there is none. */
export async function nextCommand(tx: Tx, pullId: string): Promise<string | null> {
  return (await row(tx.em, oldestQueued({ pullId })))?.id ?? null;
}

const commandState = prepared(({ commandId }: ParametersOf<{ readonly commandId: string }>) =>
  query
    .selectFrom('review_commands as c')
    .innerJoin('review_pull_requests as p', 'p.id', 'c.pullRequestId')
    .select(['c.id', 'c.pullRequestId', 'p.bindingId', 'p.pullNumber', 'c.commentId', 'c.commentKind', 'c.inReplyTo'])
    .select(['c.command', 'c.argument', 'c.sender', 'c.state', 'c.reply'])
    .where('c.id', '=', commandId),
);

/** Returns a command by its id, or null when there is none in the transaction's tenant. */
export function readCommandState(tx: Tx, commandId: string) {
  return row(tx.em, commandState({ commandId }));
}
