import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A question of the agent to its thread. */
export interface ChannelQuestion {
  readonly id: string;
  /** Its number among all questions of the run and its descendants, from 1 on; also that of its notice. */
  readonly number: number;
  readonly prompt: string;
  readonly responseSchema: Readonly<Record<string, unknown>> | null;
}

/** Returns the first unanswered question of a run, or of a run below it, that a member may answer, or null when there is none. */
export function readOpenQuestion(tx: Pick<TenantTransaction, 'em'>, runId: string): Promise<ChannelQuestion | null> {
  return row<ChannelQuestion>(
    tx.em,
    `select q.id, q.number, q.prompt, q.response_schema as "responseSchema"
       from (select a.*, row_number() over (order by a.id)::int as number from approvals a
              where a.root_run_id = (select root_run_id from runs where id = ?) and a.reason = 'input_required') q
       join runs d on d.id = q.run_id
      where q.status = 'pending' and q.expires_at > clock_timestamp() and q.approver_floor = 'member' and not q.critical
        and (q.run_id = ?::uuid or d.lineage @> array[?::uuid])
      order by q.number limit 1`,
    [runId, runId, runId],
  );
}

/**
 * Returns the run that waits in a conversation for an answer from its thread, or null when none does. `asked`: numbers of the questions that have been sent to
 * the thread, or may have been.
 */
export function findWaitingRun(
  tx: Pick<TenantTransaction, 'em'>,
  { runId, channelId }: { readonly runId: string; readonly channelId: string },
): Promise<{ readonly id: string; readonly asked: readonly number[] } | null> {
  return row(
    tx.em,
    `select r.id, array(select o.part from channel_outbound o where o.run_id = r.id and o.kind = 'notice' and o.state in ('sending', 'sent', 'unknown')) as asked
       from runs r where r.id = ? and r.trigger_id = ? and r.status = 'waiting' and r.waiting_on = 'input' and r.deleted_at is null`,
    [runId, channelId],
  );
}

/** Whether a run of a channel waits for an answer from a given person in a conversation. */
export async function isAsked(
  tx: Pick<TenantTransaction, 'em'>,
  channelId: string,
  { subjectId, sessionKey }: { readonly subjectId: string; readonly sessionKey: string },
): Promise<boolean> {
  const found = await row(
    tx.em,
    `select 1 from runs where trigger_id = ? and status = 'waiting' and waiting_on = 'input' and subject_kind = 'guest' and subject_id = ? and session_key = ? and deleted_at is null limit 1`,
    [channelId, subjectId, sessionKey],
  );
  return found !== null;
}
