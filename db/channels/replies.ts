import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../ids.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { wakeReply, type AnsweredPlace } from './wake.ts';

/** The part of a run that its thread needs. */
interface RunOfThread {
  readonly id: string;
  readonly source: string;
}

const firstOfRun = `select m.id as "messageId", m.run_id as "runId", m.organization_id as "organizationId", m.workspace_id as "workspaceId", m.channel_id as "channelId"
  from channel_messages m where m.run_id = ? and m.status = 'received' order by m.id limit 1`;

/** Returns the message that a run of a channel answers, or null when there is none or it is deleted. */
export function findAnswered(
  tx: Pick<TenantTransaction, 'em'>,
  runId: string,
): Promise<(AnsweredPlace & { readonly channelId: string }) | null> {
  return row(tx.em, firstOfRun, [runId]);
}

/**
 * Reserves the position of a run's answer in its thread, in the transaction that ends the run, and wakes the workflow that sends it: answers of a thread are
 * sent in this order. Does nothing for runs that no channel has started, at no cost.
 */
export async function openReplyOf(tx: TenantTransaction, run: RunOfThread): Promise<void> {
  if (run.source !== 'channel') return;
  const answered = await findAnswered(tx, run.id);
  if (!answered) return;
  await rows(
    tx.em,
    `insert into channel_outbound (id, organization_id, workspace_id, channel_id, message_id, run_id, thread_id, kind, part, state, created_at, updated_at)
     select ?, m.organization_id, m.workspace_id, m.channel_id, m.id, m.run_id, m.thread_id, 'reply', 0, 'pending', clock_timestamp(), clock_timestamp()
       from channel_messages m join channels c on c.id = m.channel_id where m.id = ? and c.deleted_at is null
     on conflict (message_id, kind, part) do update
       set created_at = clock_timestamp(), state = case when channel_outbound.state = 'sent' then 'pending' else channel_outbound.state end`,
    [newId(), answered.messageId],
  );
  await wakeReply(tx, answered);
}

/** Wakes the workflow that serves the thread of a run of a channel, which has begun or waits. Does nothing for other runs, at no cost. */
export async function wakeReplyOf(tx: TenantTransaction, run: RunOfThread): Promise<void> {
  if (run.source !== 'channel') return;
  const answered = await findAnswered(tx, run.id);
  if (answered) await wakeReply(tx, answered);
}

/** Returns answers whose next try is ten minutes overdue: Temporal may have lost their workflows. Sweeper's pool. */
export function overdueReplies(em: SqlEntityManager, limit: number): Promise<AnsweredPlace[]> {
  return rows<AnsweredPlace>(
    em,
    `select distinct o.message_id as "messageId", o.run_id as "runId", o.organization_id as "organizationId", o.workspace_id as "workspaceId"
       from channel_outbound o
      where o.state in ('pending', 'sending') and coalesce(o.next_attempt_at, o.updated_at) < now() - interval '10 minutes' limit ?`,
    [limit],
  );
}
