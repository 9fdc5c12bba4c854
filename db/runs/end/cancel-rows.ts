import { sql } from 'kysely';
import { anyId, literals, now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { CancelPolicy } from '../read/run-view.ts';

/** The outcome of runs that end before their work has begun. */
export interface QueuedEnd {
  readonly policy: CancelPolicy;
  readonly finishReason: 'superseded' | 'cancelled';
  readonly isSuperseded: boolean;
  readonly finishedAt: Date;
}

const endedQueued = prepared(
  ({ ids, policy, finishReason, isSuperseded, finishedAt }: ParametersOf<QueuedEnd & { ids: readonly string[] }>) =>
    query
      .with('discarded', (of) =>
        of.updateTable('messages').set({ state: 'discarded' }).where('runId', '=', anyId(ids)).where('state', '=', sql.lit('pending')),
      )
      .with('leftLine', (of) =>
        of
          .updateTable('conversations')
          .from(({ selectFrom }) =>
            selectFrom('runs as q')
              .select(['q.conversationId', sql<number>`count(*)::int`.as('left')])
              .where('q.id', '=', anyId(ids))
              .where('q.status', '=', sql.lit('queued'))
              .where('q.queueNo', 'is not', null)
              .groupBy('q.conversationId')
              .as('l'),
          )
          .set(({ ref }) => ({ queueLength: sql<number>`greatest(0, ${ref('conversations.queueLength')} - ${ref('l.left')})` }))
          .whereRef('conversations.id', '=', 'l.conversationId'),
      )
      .updateTable('runs')
      .set({
        status: 'cancelled',
        finishReason,
        isSuperseded,
        finishedAt,
        cancelPolicy: policy,
        cancelRequestedAt: finishedAt,
        queueNo: null,
        updatedAt: finishedAt,
      })
      .where('id', '=', anyId(ids))
      .where('status', '=', sql.lit('queued')),
);

/** Ends queued runs and discards their messages. */
export async function writeEnds(
  tx: TenantTransaction,
  ids: readonly string[],
  { policy, finishReason, isSuperseded, finishedAt }: QueuedEnd,
): Promise<void> {
  await change(tx.em, endedQueued({ ids, policy, finishReason, isSuperseded, finishedAt }));
}

type Cancelling = Pick<QueuedEnd, 'policy' | 'isSuperseded'>;

const cancelling = prepared(({ ids, policy, isSuperseded }: ParametersOf<Cancelling & { ids: readonly string[] }>) =>
  query
    .updateTable('runs')
    .set(({ ref }) => ({
      status: 'cancelling',
      waitingOn: null,
      waitingUntil: null,
      waitingSince: null,
      waitedMs: sql<number>`${ref('waitedMs')} + coalesce((extract(epoch from now() - ${ref('waitingSince')}) * 1000)::bigint, 0)`,
      cancelPolicy: policy,
      isSuperseded,
      cancelRequestedAt: now,
      updatedAt: now,
    }))
    .where('id', '=', anyId(ids))
    .where('status', 'in', literals('running', 'waiting')),
);

/** Marks running and waiting runs as cancelling. */
export async function writeCancelling(tx: TenantTransaction, ids: readonly string[], { policy, isSuperseded }: Cancelling): Promise<void> {
  await change(tx.em, cancelling({ ids, policy, isSuperseded }));
}

const freed = prepared(({ ids }: ParametersOf<{ readonly ids: readonly string[] }>) =>
  query
    .updateTable('conversations')
    .set({ activeRunId: null, queueLength: 0 })
    .where('conversations.id', '=', anyId(ids))
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('runs as q')
            .select('q.id')
            .whereRef('q.conversationId', '=', 'conversations.id')
            .where('q.status', '=', sql.lit('queued'))
            .where('q.queueNo', 'is not', null),
        ),
      ),
    )
    .returning('conversations.id'),
);

/** Frees those of the given conversations whose queue is empty; returns their ids. */
export async function releaseConversations(tx: TenantTransaction, conversationIds: readonly string[]): Promise<string[]> {
  return (await rows(tx.em, freed({ ids: conversationIds }))).map(({ id }) => id);
}
