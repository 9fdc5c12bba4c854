import { followedTime } from '../../../db/database-clock.ts';
import { workflowIds } from '../../../workflows/contracts/queues.ts';
import { cancelApprovals } from '../../../db/cancel-approvals.ts';
import { closeRunCaps } from '../../../db/billing/budgets/caps.ts';
import { addOutboxAll, withdrawStarts } from '../../../db/outbox.ts';
import { appendFrames, lockStreams, requestStreamCancel, stateBatch } from '../../../db/streams/append.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { lockConversationsOfRuns, type ConversationRow } from '../../../db/runs/start/conversations.ts';
import { measureEnd } from './measure-run.ts';
import { finishedFrame } from '../../../db/runs/run-frames.ts';
import { identityOf, lockRunsWithTrees, type RunState } from '../../../db/runs/run-state.ts';
import type { CancelPolicy } from '../../../db/runs/read/run-view.ts';
import { statusFrame } from '../../../db/runs/status-frame.ts';
import { settleStatuses } from '../waiting.ts';
import { writeEnds, writeCancelling, releaseConversations } from '../../../db/runs/end/cancel-rows.ts';
import { activateNext } from '../start/conversations.ts';

/** How runs are to end. */
export interface Cancel {
  readonly policy: CancelPolicy;
  readonly reason: string | null;
  /** Another run of the same conversation replaces them: they end as superseded. */
  readonly isSuperseded?: boolean;
}

/** Runs with all rows that their cancel has to lock. */
export interface LockedForCancel {
  readonly conversations: readonly ConversationRow[];
  /** The requested runs, their live descendants, and the ancestors of both, by ascending id. */
  readonly runs: readonly RunState[];
}

/** Locks the conversations of runs, then the runs with their trees, each by ascending id. Runs that don't exist are omitted. */
export async function lockForCancel(tx: TenantTransaction, runIds: readonly string[]): Promise<LockedForCancel> {
  const conversations = await lockConversationsOfRuns(tx, runIds);
  return { conversations, runs: conversations.length === 0 ? [] : await lockRunsWithTrees(tx, runIds) };
}

/**
 * Ends, or asks to end, every live run among `runIds` and below them, all in the same few statements. Runs that are cancelling or have ended stay as they are.
 * Returns the runs that ended here, as they were before; the caller settles what depends on their end (`followRunEnd`).
 */
export async function cancelLocked(
  tx: TenantTransaction,
  locked: LockedForCancel & { readonly runIds: readonly string[] },
  cancel: Cancel,
): Promise<readonly RunState[]> {
  const asked = new Set(locked.runIds);
  const meant = locked.runs.filter((run) => asked.has(run.id) || run.lineage.some((id) => asked.has(id)));
  const queued = meant.filter((run) => run.status === 'queued');
  const working = meant.filter((run) => run.status === 'running' || run.status === 'waiting');

  const finishedAt = followedTime(tx.em);
  if (queued.length > 0)
    await writeEnds(
      tx,
      queued.map(({ id }) => id),
      { policy: cancel.policy, finishReason: finishReasonOf(cancel), isSuperseded: cancel.isSuperseded ?? false, finishedAt },
    );
  await closeRunCaps(tx, queued);
  // Streams are locked by ascending id too, so lock those of both kinds before writing the first.
  if (queued.length > 0 && working.length > 0)
    await lockStreams(
      tx,
      [...queued, ...working].map((run) => run.id),
    );
  if (working.length > 0) await requestCancel(tx, working, cancel);
  if (working.some((run) => run.lineage.length > 0)) await settleAbove(tx, locked.runs, meant);
  if (queued.length === 0) return [];

  await withdrawStarts(
    tx,
    queued.flatMap(({ id }) => [workflowIds.run(id), workflowIds.delayedStart(id)]),
  );
  await announceEnds(tx, queued, { ...cancel, finishedAt });
  const ended = new Set(queued.map((run) => run.id));
  const left = locked.conversations.filter(({ activeRunId: active }) => active !== null && ended.has(active)).map(({ id }) => id);
  for (const id of left.length > 1 ? await withoutFreed(tx, left) : left) await activateNext(tx, id);
  await cancelDelayedStarts(tx, queued);
  return queued;
}

/** Frees the conversations with an empty queue, all at once; returns the others. */
async function withoutFreed(tx: TenantTransaction, conversationIds: readonly string[]): Promise<string[]> {
  const freed = await releaseConversations(tx, conversationIds);
  const ids = new Set(freed);
  return conversationIds.filter((id) => !ids.has(id));
}

/** Cancels the workflows that wait to start these runs; one that has finished no longer exists. */
async function cancelDelayedStarts(tx: TenantTransaction, ended: readonly RunState[]): Promise<void> {
  const delayed = ended.filter((run) => run.start_after !== null).map(({ id }) => workflowIds.delayedStart(id));
  await addOutboxAll(
    tx,
    delayed.map((workflowId) => ({
      message: { kind: 'workflow.cancel', workflowId },
      dedupeKey: workflowId,
    })),
  );
}

/** Settles the runs above those that are cancelled: what they waited for below is over. */
async function settleAbove(tx: TenantTransaction, runs: readonly RunState[], meant: readonly RunState[]): Promise<void> {
  const ids = new Set(meant.map((run) => run.id));
  const above = runs.filter((run) => !ids.has(run.id) && meant.some((one) => one.lineage.includes(run.id)));
  if (above.length > 0) await settleStatuses(tx, above);
}

async function requestCancel(tx: TenantTransaction, runs: readonly RunState[], cancel: Cancel): Promise<void> {
  const ids = runs.map((run) => run.id);
  await writeCancelling(tx, ids, { policy: cancel.policy, isSuperseded: cancel.isSuperseded ?? false });
  const answers = await cancelApprovals(tx, runs);
  await requestStreamCancel(tx, ids);
  await appendFrames(
    tx,
    runs.map((run) => {
      const change = statusFrame({ status: 'cancelling', previous: run.status, reason: cancel.reason });
      return stateBatch(identityOf(run), [...(answers.get(run.id) ?? []), change]);
    }),
  );
  await addOutboxAll(
    tx,
    ids.map(workflowIds.run).map((workflowId) => ({ message: { kind: 'workflow.cancel', workflowId }, dedupeKey: workflowId })),
  );
}

interface End extends Cancel {
  readonly finishedAt: Date;
}

async function announceEnds(tx: TenantTransaction, runs: readonly RunState[], cancel: End): Promise<void> {
  const streams = await lockStreams(
    tx,
    runs.map((run) => run.id),
  );
  await appendFrames(
    tx,
    runs.map((run) => {
      const end = {
        status: 'cancelled',
        finishReason: finishReasonOf(cancel),
        output: null,
        error: null,
        finishedAt: cancel.finishedAt,
        lastSeq: (streams.get(run.id)?.headSeq ?? 0) + 1,
        usage: { own: run.usage_own, subtree: run.usage_subtree },
      } as const;
      measureEnd(tx, run, end);
      return stateBatch(identityOf(run), [finishedFrame(run, end)]);
    }),
  );
}

function finishReasonOf({ isSuperseded }: Cancel): 'superseded' | 'cancelled' {
  return isSuperseded === true ? 'superseded' : 'cancelled';
}
