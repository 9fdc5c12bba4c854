import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { recordset, recordsetText } from '../../recordset.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** How people have reacted to a comment. */
export interface CommentReactions {
  readonly id: number;
  readonly reactionsUp: number;
  readonly reactionsDown: number;
}

const storing = prepared(({ pullRequestId, comments }: ParametersOf<{ readonly pullRequestId: string; readonly comments: string }>) =>
  query
    .updateTable('review_findings')
    .from(recordset<CommentReactions>(comments, { id: 'bigint', reactionsUp: 'int', reactionsDown: 'int' }).as('c'))
    .set(({ ref }) => ({ reactionsUp: ref('c.reactionsUp'), reactionsDown: ref('c.reactionsDown'), updatedAt: now }))
    .where('pullRequestId', '=', pullRequestId)
    .whereRef('commentId', '=', 'c.id')
    .where(({ or, eb, ref }) =>
      or([
        eb('review_findings.reactionsUp', 'is distinct from', ref('c.reactionsUp')),
        eb('review_findings.reactionsDown', 'is distinct from', ref('c.reactionsDown')),
      ]),
    ),
);

/** Stores people's reactions to the comments of a pull request. */
export async function storeReactions(tx: Tx, pullRequestId: string, comments: readonly CommentReactions[]): Promise<void> {
  await change(tx.em, storing({ pullRequestId, comments: recordsetText(comments) }));
}

interface Reading {
  readonly pullRequestId: string;
  readonly days: number;
}

const readingAgain = prepared(({ pullRequestId, days }: ParametersOf<Reading>) =>
  query
    .updateTable('review_pull_requests')
    .set(({ ref }) => {
      const at = sql`${ref('closedAt')} + make_interval(days => ${days})`;
      return { dueAt: sql<string | null>`case when ${at} > now() then ${at} end`, updatedAt: now };
    })
    .where('id', '=', pullRequestId)
    .where('state', '=', 'closed'),
);

/** Sets when the reactions to a closed pull request are read next: `days` after it was closed if that is in the future, otherwise never. */
export async function readAgainAfter(tx: Tx, pullRequestId: string, days: number): Promise<void> {
  await change(tx.em, readingAgain({ pullRequestId, days }));
}

const puttingOff = prepared(({ pullRequestId, days }: ParametersOf<Reading>) =>
  query
    .updateTable('review_pull_requests')
    .set(({ ref }) => ({
      dueAt: sql<string | null>`case when ${ref('closedAt')} + make_interval(days => ${days}) > now() then now() + interval '1 hour' end`,
      updatedAt: now,
    }))
    .where('id', '=', pullRequestId)
    .where('state', '=', 'closed'),
);

/** Postpones the reading by an hour, until `days` after the pull request was closed. */
export async function putReadingOff(tx: Tx, pullRequestId: string, days: number): Promise<void> {
  await change(tx.em, puttingOff({ pullRequestId, days }));
}
