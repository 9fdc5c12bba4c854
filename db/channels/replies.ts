import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { clockTime } from '../expressions.ts';
import { newId } from '../ids.ts';
import { insertFrom } from '../insert-from.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { openStates } from './part-queries.ts';
import { wakeReply, type AnsweredPlace } from './wake.ts';

/** The part of a run that its thread needs. */
interface RunOfThread {
  readonly id: string;
  readonly source: string;
}

const firstOfRun = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('channel_messages as m')
    .where('m.runId', '=', runId)
    .where('m.status', '=', 'received')
    .select(['m.id as messageId', 'm.runId', 'm.organizationId', 'm.workspaceId', 'm.channelId'])
    .orderBy('m.id')
    .limit(1),
);

/** Returns the message that a run of a channel answers, or null when there is none or it is deleted. */
export function findAnswered(tx: Pick<TenantTransaction, 'em'>, runId: string) {
  return row(tx.em, firstOfRun({ runId }));
}

const reserving = prepared(({ id, messageId }: ParametersOf<{ readonly id: string; readonly messageId: string }>) =>
  insertFrom(
    'channel_outbound',
    query
      .selectFrom('channel_messages as m')
      .innerJoin('channels as c', 'c.id', 'm.channelId')
      .where('m.id', '=', messageId)
      .where('c.deletedAt', 'is', null),
    ({ ref }) => ({
      id: sql<string>`${id}::uuid`,
      organizationId: ref('m.organizationId'),
      workspaceId: ref('m.workspaceId'),
      channelId: ref('m.channelId'),
      messageId: ref('m.id'),
      runId: ref('m.runId'),
      threadId: ref('m.threadId'),
      kind: sql.lit('reply'),
      part: sql.lit(0),
      state: sql.lit('pending'),
      createdAt: clockTime,
      updatedAt: clockTime,
    }),
  ).onConflict((conflict) =>
    conflict.columns(['messageId', 'kind', 'part']).doUpdateSet(({ eb, ref }) => ({
      createdAt: clockTime,
      state: eb
        .case()
        .when('channel_outbound.state', '=', 'sent')
        .then('pending' as const)
        .else(ref('channel_outbound.state'))
        .end(),
      updatedAt: ref('channel_outbound.updatedAt'),
    })),
  ),
);

/**
 * Reserves the position of a run's answer in its thread, in the transaction that ends the run, and wakes the workflow that sends it: answers of a thread are
 * sent in this order. Does nothing for runs that no channel has started, at no cost.
 */
export async function openReplyOf(tx: TenantTransaction, run: RunOfThread): Promise<void> {
  if (run.source !== 'channel') return;
  const answered = await findAnswered(tx, run.id);
  if (!answered) return;
  await change(tx.em, reserving({ id: newId(), messageId: answered.messageId }));
  await wakeReply(tx, answered);
}

/** Returns answers whose next try is ten minutes overdue: Temporal may have lost their workflows. Sweeper's pool. */
export function overdueReplies(em: SqlEntityManager, limit: number): Promise<AnsweredPlace[]> {
  return rows(
    em,
    query
      .selectFrom('channel_outbound as o')
      .where('o.state', 'in', openStates)
      .where(({ eb, fn }) => eb(fn.coalesce('o.nextAttemptAt', 'o.updatedAt'), '<', sql<string>`now() - interval '10 minutes'`))
      .select(['o.messageId', 'o.runId', 'o.organizationId', 'o.workspaceId'])
      .distinct()
      .limit(limit),
  );
}
