import type { RunSource } from '../../../workflows/contracts/runs/runs.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { hardDeadlineDays, type ConversationRow, type WaitingPosition } from './conversations.ts';
import type { RunState } from '../run-state.ts';
import type { RunFault } from '../run-types.ts';
import type { OnBusy } from '../read/run-view.ts';

interface ActivatedRun {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly agent_slug: string;
  readonly path: readonly string[];
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly source: RunSource;
}

/** Makes the first run of the queue active and gives it its turn; without a queued run the conversation becomes free. Returns the run, or null. */
export function activateFirst(tx: TenantTransaction, conversationId: string): Promise<ActivatedRun | null> {
  return row<ActivatedRun>(
    tx.em,
    `with next as (
       select r.id from runs r where r.conversation_id = ?::uuid and r.status = 'queued' and r.queue_no is not null order by r.queue_no limit 1 for no key update
     ), activated as (
       update runs r set queue_no = null, activated_at = now(), hard_deadline_at = now() + interval '${hardDeadlineDays} days', turn_no = c.turn_no + 1, updated_at = now()
         from next, conversations c where r.id = next.id and c.id = r.conversation_id and r.status = 'queued'
       returning r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_slug, r.path, r.root_run_id, r.parent_run_id, r.source, r.turn_no
     ), placed as (
       update messages m set turn = a.turn_no from activated a where m.run_id = a.id
     ), moved as (
       update conversations c
          set active_run_id = (select a.id from activated a), turn_no = coalesce((select a.turn_no from activated a), c.turn_no),
              -- recounted, so that a wrong length is corrected here
              queue_length = (select count(*) from runs q where q.conversation_id = c.id and q.status = 'queued' and q.queue_no is not null)
                - (select count(*) from activated a)
        where c.id = ?::uuid
     )
     select * from activated`,
    [conversationId, conversationId],
  );
}

/** Returns null for a run that is not, or no longer, delayed. */
export function readDelayed(
  tx: TenantTransaction,
  runId: string,
): Promise<{ readonly on_busy: OnBusy; readonly due_in_ms: number } | null> {
  return row(
    tx.em,
    `select r.on_busy, greatest(0, ceil(extract(epoch from r.start_after - clock_timestamp()) * 1000))::float8 as due_in_ms from runs r
      where r.id = ? and r.status = 'queued' and r.queue_no is null and r.activated_at is null and r.start_after is not null`,
    [runId],
  );
}

/** Puts a delayed run into the queue. */
export async function enqueueRun(
  tx: TenantTransaction,
  { run, conversation }: { readonly run: Pick<RunState, 'id'>; readonly conversation: Pick<ConversationRow, 'id'> },
  line: WaitingPosition,
): Promise<void> {
  await rows(
    tx.em,
    `with longer as (
       update conversations set queue_length = queue_length + 1, next_queue_no = next_queue_no + ? where id = ?
     )
     update runs set queue_no = ?, updated_at = now() where id = ? and status = 'queued'`,
    [line.isFirst ? 0 : 1, conversation.id, line.queueNo, run.id],
  );
}

/** Ends a queued run with an error and discards its question. */
export async function failQueued(
  tx: TenantTransaction,
  runId: string,
  { error, finishedAt }: { readonly error: RunFault; readonly finishedAt: Date },
): Promise<void> {
  await rows(
    tx.em,
    `with discarded as (update messages set state = 'discarded' where run_id = ? and state = 'pending')
     update runs set status = 'failed', finish_reason = 'error', error = ?::jsonb, finished_at = ?::timestamptz, updated_at = ?::timestamptz
      where id = ? and status = 'queued'`,
    [runId, JSON.stringify(error), finishedAt, finishedAt, runId],
  );
}
