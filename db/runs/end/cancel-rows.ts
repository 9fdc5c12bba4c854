import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { CancelPolicy } from '../read/run-view.ts';

/** The outcome of runs that end before their work has begun. */
export interface QueuedEnd {
  readonly policy: CancelPolicy;
  readonly finishReason: 'superseded' | 'cancelled';
  readonly isSuperseded: boolean;
  readonly finishedAt: Date;
}

/** Ends queued runs and discards their messages. */
export async function writeEnds(tx: TenantTransaction, ids: readonly string[], end: QueuedEnd): Promise<void> {
  await rows(
    tx.em,
    `with discarded as (
       update messages set state = 'discarded' where run_id = any (?::uuid[]) and state = 'pending'
     ), left_line as (
       update conversations c set queue_length = greatest(0, c.queue_length - l.left) from (
         select q.conversation_id, count(*)::int as left from runs q where q.id = any (?::uuid[]) and q.status = 'queued' and q.queue_no is not null group by 1) l
        where c.id = l.conversation_id
     )
     update runs set status = 'cancelled', finish_reason = ?, is_superseded = ?, finished_at = ?::timestamptz, cancel_policy = ?,
            cancel_requested_at = ?::timestamptz, queue_no = null, updated_at = ?::timestamptz
      where id = any (?::uuid[]) and status = 'queued'`,
    [ids, ids, end.finishReason, end.isSuperseded, end.finishedAt, end.policy, end.finishedAt, end.finishedAt, ids],
  );
}

/** Marks running and waiting runs as cancelling. */
export async function writeCancelling(
  tx: TenantTransaction,
  ids: readonly string[],
  { policy, isSuperseded }: Pick<QueuedEnd, 'policy' | 'isSuperseded'>,
): Promise<void> {
  await rows(
    tx.em,
    `update runs set status = 'cancelling', waiting_on = null, waiting_until = null, waiting_since = null,
            waited_ms = waited_ms + coalesce((extract(epoch from now() - waiting_since) * 1000)::bigint, 0),
            cancel_policy = ?, is_superseded = ?, cancel_requested_at = now(), updated_at = now()
      where id = any (?::uuid[]) and status in ('running', 'waiting')`,
    [policy, isSuperseded, ids],
  );
}

/** Frees those of the given conversations whose queue is empty; returns their ids. */
export async function releaseConversations(tx: TenantTransaction, conversationIds: readonly string[]): Promise<string[]> {
  const freed = await rows<{ id: string }>(
    tx.em,
    `update conversations c set active_run_id = null, queue_length = 0
      where c.id = any (?::uuid[]) and not exists (select from runs q where q.conversation_id = c.id and q.status = 'queued' and q.queue_no is not null)
      returning c.id`,
    [[...conversationIds]],
  );
  return freed.map(({ id }) => id);
}
