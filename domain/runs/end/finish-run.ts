import { followedTime } from '../../../db/database-clock.ts';
import { errorCodes } from '../../../workflows/contracts/error-codes.ts';
import type { FinishRunInput, FinishRunResult } from '../../../workflows/contracts/runs/agent-run.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { cancelApprovals } from '../../../db/cancel-approvals.ts';
import { closeRunCaps } from '../../../db/billing/budgets/caps.ts';
import { appendFrames, lockStreams, stateBatch, type FrameBatch } from '../../../db/streams/append.ts';
import type { FrameDraft } from '../../../db/streams/frame.schema.ts';
import { openMessages } from '../../../db/streams/open-messages.ts';
import { emitRunEvent } from '../../../db/triggers/events.ts';
import { followRunEnd } from '../../run-ended.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { hasStepBehind } from '../../../db/runs/end/end-rows.ts';
import { closeCalls, closeMessages, readOutput, writeEnd } from './close-run.ts';
import { lockConversationOfRun } from '../../../db/runs/start/conversations.ts';
import { hasDelegates } from '../../../db/runs/children/delegates.ts';
import { finishedFrame, type FinishedRun } from '../../../db/runs/run-frames.ts';
import type { RunError } from '../../../db/runs/run-types.ts';
import { identityOf, lockLiveDescendants, lockRunWithAncestors, type RunState } from '../../../db/runs/run-state.ts';
import { statusFrame } from '../../../db/runs/status-frame.ts';
import { lockOpenCalls, type CallState } from '../../../db/runs/calls/call-state.ts';
import { activateNext } from '../start/conversations.ts';

/**
 * Ends a run, once, and with it the live runs below it: closes open messages and calls, commits or discards the turn, writes the run and its last frames,
 * advances the conversation's queue. A run that has ended already, or no longer exists, is left as it is. `more`: a message arrived that the model has not
 * read, or a later step has begun, so that the run continues instead of succeeding.
 */
export async function finishRun(tx: TenantTransaction, input: FinishRunInput): Promise<FinishRunResult> {
  const [conversation, locked, isPast] = await Promise.all([
    lockConversationOfRun(tx, input.runId),
    lockRunWithAncestors(tx, input.runId),
    hasLaterStep(tx, input),
  ]);
  if (!conversation || !locked || isTerminal(locked.run.status)) return { more: false };

  const { run } = locked;
  if (input.reason === 'stop' && run.status === 'running' && (run.has_unread_input || isPast)) return { more: true };
  const descendants = hasDelegates(run.manifest) ? await lockLiveDescendants(tx, run) : [];
  const ids = [run.id, ...descendants.map(({ id }) => id)];
  const answers = await cancelApprovals(tx, [run, ...descendants]);
  await closeRunCaps(tx, [run, ...descendants]);
  const [calls, lockedHeads] = await Promise.all([lockOpenCalls(tx, ids), headsOf(tx, ids)]);
  let heads = lockedHeads;
  if (descendants.length > 0) {
    const batches: FrameBatch[] = [];
    // Children come before their parents, whose calls report the children's outcome.
    for (const child of descendants.toReversed())
      batches.push((await close(tx, { run: child, answers, calls, heads }, cancelledWithParent)).batch);
    await appendFrames(tx, batches);
    for (const child of descendants) await emitRunEvent(tx, child, 'cancelled');
    heads = await headsOf(tx, [run.id]);
    // Activities that still work for descendants are notified at once.
    tx.outgoing.cancelledRunIds.push(...descendants.map(({ id }) => id));
  }

  const { batch, end } = await close(tx, { run, answers, calls, heads }, outcomeOf(run, input));
  await appendFrames(tx, [batch]);
  if (conversation.activeRunId === run.id) await activateNext(tx, conversation.id);
  await followRunEnd(tx, run, end.status);
  return { more: false };
}

/**
 * Whether the run has continued after the step that is reported as its last one: the report comes from a worker whose task another worker has taken over.
 * Checked under the lock of the run, which a step takes when it begins.
 */
async function hasLaterStep(tx: TenantTransaction, { runId, reason, step }: FinishRunInput): Promise<boolean> {
  if (reason !== 'stop' || step === undefined) return false;
  return hasStepBehind(tx, runId, step);
}

type RunOutcome = Pick<FinishedRun, 'status' | 'finishReason' | 'error'>;

const cancelledWithParent: RunOutcome = { status: 'cancelled', finishReason: 'cancelled', error: null };

interface Closing {
  readonly run: RunState;
  /** Frames of the withdrawn questions, by run. */
  readonly answers: ReadonlyMap<string, readonly FrameDraft[]>;
  /** Open calls, of other runs too. */
  readonly calls: readonly CallState[];
  /** Last frame numbers of the streams, all of them locked. */
  readonly heads: ReadonlyMap<string, number>;
}

/** Writes everything that the end of one run changes; returns its last frames. */
async function close(
  tx: TenantTransaction,
  { run, answers, calls, heads }: Closing,
  outcome: RunOutcome,
): Promise<{ batch: FrameBatch; end: FinishedRun }> {
  const results = await closeCalls(
    tx,
    calls.filter((call) => call.runId === run.id),
  );
  const [open, output] = await Promise.all([openMessages(tx.em, run.id), readOutput(tx, run, outcome)]);
  const messages = await closeMessages(tx, run, open, outcome.status === 'cancelled' ? 'cancelled' : 'error');
  const frames: FrameDraft[] = [...(answers.get(run.id) ?? []), ...messages, ...results, ...announcedCancel(run, outcome)];
  const end: FinishedRun = {
    ...outcome,
    output: open.length > 0 ? await readOutput(tx, run, outcome) : output,
    finishedAt: followedTime(tx.em),
    lastSeq: (heads.get(run.id) ?? 0) + frames.length + 1,
    usage: { own: run.usage_own, subtree: run.usage_subtree },
  };
  await writeEnd(tx, run, end);
  return { batch: stateBatch(identityOf(run), [...frames, finishedFrame(run, end)]), end };
}

/** Only a run in `cancelling` ends as cancelled, so a run that ends with its parent first announces that state. */
function announcedCancel({ status }: RunState, outcome: RunOutcome): FrameDraft[] {
  if (outcome.status !== 'cancelled' || (status !== 'running' && status !== 'waiting')) return [];
  return [statusFrame({ status: 'cancelling', previous: status })];
}

async function headsOf(tx: TenantTransaction, runIds: readonly string[]): Promise<Map<string, number>> {
  const streams = await lockStreams(tx, runIds);
  return new Map([...streams].map(([id, { headSeq }]) => [id, headSeq]));
}

/** Only a row in `cancelling` ends as cancelled, only `stop` succeeds; every other end retains what there is and gives a reason. */
function outcomeOf(run: RunState, input: FinishRunInput): RunOutcome {
  if (run.status === 'cancelling')
    return { status: 'cancelled', finishReason: run.is_superseded ? 'superseded' : 'cancelled', error: null };
  if (input.reason === 'stop') return { status: 'succeeded', finishReason: 'stop', error: null };
  // Only the parent's workflow stops a child's: the parent is ending.
  if (input.reason === 'cancelled' && run.parent_run_id !== null) return cancelledWithParent;
  if (input.reason === 'cancelled')
    return {
      status: 'failed',
      finishReason: 'error',
      error: errorOf({ code: 'internal_error', message: 'The work was stopped from outside.', reason: 'workflow_cancelled' }),
    };
  const hasError = input.reason === 'error' || input.reason === 'budget_exceeded';
  return {
    status: 'failed',
    finishReason: input.reason,
    error: hasError ? errorOf(input.error ?? defaultError(input.reason)) : null,
  };
}

/** The error of an end for which the workflow knows only the reason. */
function defaultError(reason: FinishRunInput['reason']): NonNullable<FinishRunInput['error']> {
  const code = reason === 'budget_exceeded' ? 'budget_exceeded' : 'internal_error';
  return { code, message: errorCodes[code].title };
}

function errorOf(error: NonNullable<FinishRunInput['error']>): RunError {
  return {
    code: error.code,
    message: error.message.slice(0, 1_000).toWellFormed(),
    retryable: error.retryable ?? errorCodes[error.code].retryable,
    reason: error.reason?.slice(0, 120) ?? null,
  };
}
