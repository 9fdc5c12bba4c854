import { fail, type Failure } from '../../../workflows/contracts/failure.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { LockedForCancel } from '../end/cancel-locked.ts';
import { firstQueueNo, maxQueued, type ConversationRow, type WaitingPosition } from '../../../db/runs/start/conversations.ts';
import { lockRun, lockRunsWithTrees, type RunState } from '../../../db/runs/run-state.ts';
import type { CancelPolicy, OnBusy } from '../../../db/runs/read/run-view.ts';

/** How a busy conversation answers a start. */
export type BusyAnswer =
  /** `supersedes`: the active run, to be cancelled once the new run is queued. */
  | { readonly kind: 'line'; readonly line: WaitingPosition; readonly supersedes: LockedForCancel | null }
  /** The input joins the active run, which is locked. */
  | { readonly kind: 'steer'; readonly run: RunState };

/**
 * Decides about a start in a conversation with an active run; the conversation is locked. Writes nothing. Throws 409 `conversation_busy` or
 * `conversation_queue_full`, both with `active_run_id`.
 */
export async function answerBusy(tx: TenantTransaction, conversation: ConversationRow, onBusy: OnBusy): Promise<BusyAnswer> {
  const activeRunId = conversation.activeRunId;
  if (activeRunId === null) throw new Error('a conversation that is not busy');
  switch (onBusy) {
    case 'reject':
      throw conversationBusy(activeRunId);
    case 'enqueue':
      return { kind: 'line', line: lastInQueue(conversation, activeRunId), supersedes: null };
    case 'steer': {
      const run = await lockRun(tx, activeRunId);
      const takesInput = run !== null && run.status !== 'cancelling' && !isTerminal(run.status);
      return takesInput ? { kind: 'steer', run } : { kind: 'line', line: lastInQueue(conversation, activeRunId), supersedes: null };
    }
    case 'interrupt':
    case 'rollback': {
      const line = await firstInLine(tx, conversation, activeRunId);
      const runs = await lockRunsWithTrees(tx, [activeRunId]);
      const active = runs.find(({ id }) => id === activeRunId);
      const isEnding = !active || active.status === 'cancelling' || isTerminal(active.status);
      return { kind: 'line', line, supersedes: isEnding ? null : { conversations: [conversation], runs } };
    }
    default:
      return onBusy satisfies never;
  }
}

/** How the active run ends when another run replaces it. */
export function policyOf(onBusy: OnBusy): CancelPolicy {
  return onBusy === 'rollback' ? 'rollback' : 'interrupt';
}

/** 409: another run is active in the conversation. */
export function conversationBusy(activeRunId: string): Failure {
  return fail('state_conflict', {
    reason: 'conversation_busy',
    detail: 'The conversation has an active run.',
    context: { active_run_id: activeRunId },
  });
}

function lastInQueue(conversation: ConversationRow, activeRunId: string): WaitingPosition {
  refuseFull(conversation, activeRunId);
  return { kind: 'line', queueNo: conversation.nextQueueNo, position: conversation.queueLength + 1, isFirst: false };
}

async function firstInLine(tx: TenantTransaction, conversation: ConversationRow, activeRunId: string): Promise<WaitingPosition> {
  refuseFull(conversation, activeRunId);
  return { kind: 'line', queueNo: await firstQueueNo(tx, conversation), position: 1, isFirst: true };
}

function refuseFull({ queueLength: length }: ConversationRow, activeRunId: string): void {
  if (length < maxQueued) return;
  throw fail('state_conflict', {
    reason: 'conversation_queue_full',
    detail: 'The queue of the conversation is full.',
    context: { active_run_id: activeRunId },
  });
}
