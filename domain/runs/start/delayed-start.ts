import { followedTime } from '../../../db/database-clock.ts';
import { closeRunCaps } from '../../../db/billing/budgets/caps.ts';
import { appendFrames, lockStreams, stateBatch } from '../../../db/streams/append.ts';
import { followRunEnd } from '../../run-ended.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { cancelAndClose } from '../end/cancel-run.ts';
import { maxQueued, lockConversationOfRun, type ConversationRow, type WaitingPosition } from '../../../db/runs/start/conversations.ts';
import { answerBusy, conversationBusy, policyOf } from './on-busy.ts';
import { measureEnd } from '../end/measure-run.ts';
import { finishedFrame } from '../../../db/runs/run-frames.ts';
import { identityOf, lockRun, type RunState } from '../../../db/runs/run-state.ts';
import type { RunError } from '../../../db/runs/run-types.ts';
import { statusFrame } from '../../../db/runs/status-frame.ts';
import { readDelayed, enqueueRun, failQueued } from '../../../db/runs/start/queue-rows.ts';
import { activateNext } from './conversations.ts';

/** How long a due run waits before it tries a full queue again. */
const fullLineMs = 30_000;

/** The outcome of starting a delayed run. */
export type Admission = { readonly isDone: true } | { readonly isDone: false; readonly dueInMs: number };

/**
 * Starts a delayed run once it is due: it becomes active, or is queued as its `on_busy` says; with `reject` it ends when the conversation is busy. A run that
 * is no longer delayed is left as it is. While the queue is full the run stays delayed.
 */
export async function startDelayed(tx: TenantTransaction, runId: string): Promise<Admission> {
  const conversation = await lockConversationOfRun(tx, runId);
  const run = conversation && (await lockRun(tx, runId));
  const delayed = run && (await readDelayed(tx, runId));
  if (!conversation || !run || !delayed) return { isDone: true };
  if (delayed.dueInMs > 0) return { isDone: false, dueInMs: delayed.dueInMs };

  const { activeRunId } = conversation;
  if (activeRunId === null) {
    await enqueueRun(tx, { run, conversation }, lastPlace(conversation));
    await activateNext(tx, conversation.id);
    return { isDone: true };
  }
  if (delayed.onBusy === 'reject') {
    await endBusy(tx, run, activeRunId);
    return { isDone: true };
  }
  if (conversation.queueLength >= maxQueued) return { isDone: false, dueInMs: fullLineMs };

  // It is a run already, so its input can't join another run.
  const answer = await answerBusy(tx, conversation, delayed.onBusy === 'steer' ? 'enqueue' : delayed.onBusy);
  if (answer.kind !== 'line') throw new Error('a delayed run has no other place');
  await enqueueRun(tx, { run, conversation }, answer.line);
  await appendFrames(tx, [
    stateBatch(identityOf(run), [statusFrame({ status: 'queued', previous: 'queued', queuePosition: answer.line.position })]),
  ]);
  if (answer.supersedes === null) return { isDone: true };
  const cancel = { policy: policyOf(delayed.onBusy), reason: 'superseded', isSuperseded: true };
  await cancelAndClose(tx, { ...answer.supersedes, runIds: [activeRunId] }, cancel);
  return { isDone: true };
}

function lastPlace(conversation: ConversationRow): WaitingPosition {
  return { kind: 'line', queueNo: conversation.nextQueueNo, position: conversation.queueLength + 1, isFirst: false };
}

/** Ends a run that must not wait, at the point where it would have begun; its question is discarded. */
async function endBusy(tx: TenantTransaction, run: RunState, activeRunId: string): Promise<void> {
  const { code, detail, retryable } = conversationBusy(activeRunId);
  const error: RunError = { code, message: detail, retryable, reason: 'conversation_busy' };
  const finishedAt = followedTime(tx.em);
  await failQueued(tx, run.id, { error, finishedAt });
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
