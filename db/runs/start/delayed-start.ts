import { followedTime } from '../../database-clock.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { closeRunCaps } from '../../billing/caps.ts';
import { row, rows } from '../../sql.ts';
import { appendFrames, lockStreams, stateBatch } from '../../streams/append.ts';
import { followRunEnd } from '../end/run-ended.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { cancelAndClose } from '../end/cancel-run.ts';
import { activateNext, limitQueue, lockConversationOfRun, type ConversationRow, type StartableRun } from './conversations.ts';
import { answerBusy, conversationBusy, policyOf, type WaitingPlace } from './on-busy.ts';
import { measureEnd } from '../end/measure-run.ts';
import { finishedFrame } from '../run-frames.ts';
import { identityOf, lockRun, type RunState } from '../run-state.ts';
import type { RunFault } from '../run-types.ts';
import type { OnBusy } from '../read/run-view.ts';
import { statusFrame } from '../status-frame.ts';

/** How long a run whose time has come waits for a place in a full line before it asks again. */
const fullLineMs = 30_000;

/** What became of a delayed run. */
export type Admission = { readonly isDone: true } | { readonly isDone: false; readonly dueInMs: number };

/**
 * Gives a delayed run its place once it is due: active, or in line as its `on_busy` says; with `reject` it ends in a busy conversation. One that is
 * not delayed any more is left as it is. While its line is full it stays delayed.
 */
export async function admitRun(tx: TenantTransaction, runId: string): Promise<Admission> {
  const conversation = await lockConversationOfRun(tx, runId);
  const run = conversation && (await lockRun(tx, runId));
  const delayed = run && (await readDelayed(tx, runId));
  if (!conversation || !run || !delayed) return { isDone: true };
  if (delayed.due_in_ms > 0) return { isDone: false, dueInMs: delayed.due_in_ms };

  const { active_run_id: activeRunId } = conversation;
  if (activeRunId === null) {
    await enterLine(tx, { run, conversation }, lastPlace(conversation));
    await activateNext(tx, conversation.id);
    return { isDone: true };
  }
  if (delayed.on_busy === 'reject') {
    await endBusy(tx, run, activeRunId);
    return { isDone: true };
  }
  if (conversation.queue_length >= limitQueue) return { isDone: false, dueInMs: fullLineMs };

  // It is a run already: its input can't join another one.
  const answer = await answerBusy(tx, conversation, delayed.on_busy === 'steer' ? 'enqueue' : delayed.on_busy);
  if (answer.kind !== 'line') throw new Error('a delayed run has no other place');
  await enterLine(tx, { run, conversation }, answer.line);
  await appendFrames(tx, [
    stateBatch(identityOf(run), [statusFrame({ status: 'queued', previous: 'queued', queuePosition: answer.line.position })]),
  ]);
  if (answer.supersedes === null) return { isDone: true };
  const cancel = { policy: policyOf(delayed.on_busy), reason: 'superseded', isSuperseded: true };
  await cancelAndClose(tx, { ...answer.supersedes, runIds: [activeRunId] }, cancel);
  return { isDone: true };
}

/** Delayed runs whose workflow should have come half a minute ago. Role sweeper only. */
export function dueRuns(em: SqlEntityManager, limit: number): Promise<StartableRun[]> {
  return rows<StartableRun>(
    em,
    `select r.id, r.organization_id as "organizationId", r.workspace_id as "workspaceId", r.agent_id as "agentId", r.source from runs r
      where r.status = 'queued' and r.queue_no is null and r.activated_at is null and r.start_after < now() - interval '30 seconds'
      order by r.start_after limit ?`,
    [limit],
  );
}

/** Null for a run that is not delayed, or not any more. */
function readDelayed(tx: TenantTransaction, runId: string): Promise<{ readonly on_busy: OnBusy; readonly due_in_ms: number } | null> {
  return row(
    tx.em,
    `select r.on_busy, greatest(0, ceil(extract(epoch from r.start_after - clock_timestamp()) * 1000))::float8 as due_in_ms from runs r
      where r.id = ? and r.status = 'queued' and r.queue_no is null and r.activated_at is null and r.start_after is not null`,
    [runId],
  );
}

function lastPlace(conversation: ConversationRow): WaitingPlace {
  return { kind: 'line', queueNo: conversation.next_queue_no, position: conversation.queue_length + 1, isFirst: false };
}

async function enterLine(
  tx: TenantTransaction,
  { run, conversation }: { run: RunState; conversation: ConversationRow },
  line: WaitingPlace,
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

/** The run that was not to wait ends where it would have begun, its question discarded. */
async function endBusy(tx: TenantTransaction, run: RunState, activeRunId: string): Promise<void> {
  const { code, detail, retryable } = conversationBusy(activeRunId);
  const error: RunFault = { code, message: detail, retryable, reason: 'conversation_busy' };
  const finishedAt = followedTime(tx.em);
  await rows(
    tx.em,
    `with discarded as (update messages set state = 'discarded' where run_id = ? and state = 'pending')
     update runs set status = 'failed', finish_reason = 'error', error = ?::jsonb, finished_at = ?::timestamptz, updated_at = ?::timestamptz
      where id = ? and status = 'queued'`,
    [run.id, JSON.stringify(error), finishedAt, finishedAt, run.id],
  );
  await closeRunCaps(tx, [run]);
  const head = (await lockStreams(tx, [run.id])).get(run.id)?.headSeq ?? 0;
  const end = {
    status: 'failed',
    finishReason: 'error',
    output: null,
    error,
    finishedAt,
    lastSeq: head + 1,
    usage: { own: run.usage_own, subtree: run.usage_subtree },
  } as const;
  await appendFrames(tx, [stateBatch(identityOf(run), [finishedFrame(run, end)])]);
  measureEnd(tx, run, end);
  await followRunEnd(tx, run, 'failed');
}
