import { fail } from '../../workflows/contracts/failure.ts';
import { isTerminal } from '../../workflows/contracts/runs.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { addOutbox } from '../outbox.ts';
import { rows } from '../sql.ts';
import { appendFrames, lockStreams, requestStreamCancel, stateBatch } from '../streams/append.ts';
import { closeOccurrenceOf } from '../triggers/close-occurrence.ts';
import type { Unit } from '../unit.ts';
import { activateNext, lockConversationOfRun, type ConversationRow } from './conversations.ts';
import { finishedFrame } from './run-frames.ts';
import { readRunRow } from './run-queries.ts';
import { identityOf, lockRun, type RunState } from './run-state.ts';
import { toRunView, type CancelPolicy, type RunRow } from './run-view.ts';
import { statusFrame } from './status-frame.ts';

export interface CancelRun {
  readonly runId: string;
  readonly policy: CancelPolicy;
  readonly reason: string | null;
}

/**
 * Asks a live run to end. A queued one ends here and the line moves; a running or waiting one becomes `cancelling`, its workflow and activities
 * are told after the commit. A repeat changes nothing. Throws 404, and 409 `run_finished` with the run for a terminal one.
 */
export async function cancelRun(unit: Unit, cancel: CancelRun): Promise<RunRow> {
  const conversation = await lockConversationOfRun(unit, cancel.runId);
  const run = conversation && (await lockRun(unit, cancel.runId));
  if (!conversation || !run) throw fail('not_found');
  if (isTerminal(run.status)) {
    const ended = await readRunRow(unit, run.id);
    throw fail('state_conflict', { reason: 'run_finished', detail: 'The run has ended.', context: { run: ended && toRunView(ended) } });
  }

  if (run.status === 'queued') await endQueued(unit, conversation, run, cancel);
  else if (run.status !== 'cancelling') await requestCancel(unit, run, cancel);

  const row = await readRunRow(unit, run.id);
  if (!row) throw fail('not_found');
  return row;
}

async function requestCancel(unit: Unit, run: RunState, cancel: CancelRun): Promise<void> {
  await rows(
    unit.em,
    `update runs set status = 'cancelling', waiting_on = null, waiting_until = null, cancel_policy = ?, cancel_requested_at = now(), updated_at = now()
      where id = ? and status in ('running', 'waiting')`,
    [cancel.policy, run.id],
  );
  await requestStreamCancel(unit, [run.id]);
  await appendFrames(unit, [
    stateBatch(identityOf(run), [statusFrame({ status: 'cancelling', previous: run.status, reason: cancel.reason })]),
  ]);
  const workflowId = workflowIds.run(run.id);
  await addOutbox(unit, { kind: 'workflow.cancel', workflowId }, { dedupeKey: workflowId });
}

/** No work has begun: the run ends with its message discarded, and the line moves. */
async function endQueued(unit: Unit, conversation: ConversationRow, run: RunState, cancel: CancelRun): Promise<void> {
  const finishedAt = new Date();
  await rows(
    unit.em,
    `with discarded as (
       update messages set state = 'discarded' where run_id = ? and state = 'pending'
     ), left_line as (
       update conversations set queue_length = greatest(0, queue_length - 1) where id = ? and active_run_id is distinct from ?::uuid
     )
     update runs set status = 'cancelled', finish_reason = 'cancelled', finished_at = ?, cancel_policy = ?, cancel_requested_at = ?, queue_no = null, updated_at = ?
      where id = ? and status = 'queued'`,
    [run.id, conversation.id, run.id, finishedAt, cancel.policy, finishedAt, finishedAt, run.id],
  );
  const stream = (await lockStreams(unit, [run.id])).get(run.id);
  const end = finishedFrame(run, {
    status: 'cancelled',
    finishReason: 'cancelled',
    output: null,
    error: null,
    finishedAt,
    lastSeq: (stream?.headSeq ?? 0) + 1,
    usage: { own: run.usage_own, subtree: run.usage_subtree },
  });
  await appendFrames(unit, [stateBatch(identityOf(run), [end])]);
  if (conversation.active_run_id === run.id) await activateNext(unit, conversation.id);
  await closeOccurrenceOf(unit, run, 'cancelled');
}
