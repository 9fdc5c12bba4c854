import { setTimeout as delay } from 'node:timers/promises';
import type { RunToolInput, SettleToolResult } from '../../../workflows/contracts/runs/agent-run.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { stateBatch } from '../../../db/streams/append.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { isOpen, lockCall } from '../../../db/runs/calls/call-state.ts';
import { cancelLocked, lockForCancel } from '../end/cancel-locked.ts';
import { endChildCall } from './child-end.ts';
import { finishRun } from '../end/finish-run.ts';
import { identityOf, lockRunWithAncestors } from '../../../db/runs/run-state.ts';
import { settleStatus } from '../waiting.ts';
import { readChild, readLiveChild } from '../../../db/runs/children/child-rows.ts';

/** How long a child that is cancelled with its parent may take to report its cost. */
const graceMs = 3_000;
const pollMs = 150;

type Transact = <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;

/**
 * Ends a delegate call with the outcome of its child, whose workflow has closed. A child whose row is still live was lost with its workflow, and is ended
 * first.
 */
export async function settleChild(
  { transact }: { readonly transact: Transact },
  { runId, toolCallId }: RunToolInput,
): Promise<SettleToolResult> {
  const live = await transact((tx) => readLiveChild(tx, toolCallId));
  // This takes its own locks first: conversation, then runs.
  if (live !== null) await transact((tx) => finishRun(tx, { runId: live, reason: 'error', error: lost }));
  await transact((tx) => endWithChild(tx, { runId, toolCallId }));
  return { again: false };
}

/**
 * Ends the delegate call of a parent that is ending: cancels the child and gives it a moment to end, so that the parent's last frame includes all costs. A
 * child that still lives then ends with the parent.
 */
export async function leaveChild({ transact }: { readonly transact: Transact }, { runId, toolCallId }: RunToolInput): Promise<void> {
  const childRunId = await transact((tx) => readLiveChild(tx, toolCallId));
  if (childRunId !== null) {
    await transact(async (tx) => {
      const locked = await lockForCancel(tx, [childRunId]);
      await cancelLocked(tx, { ...locked, runIds: [childRunId] }, { policy: 'interrupt', reason: 'parent_ended' });
    });
    const end = performance.now() + graceMs;
    while (performance.now() < end && (await transact((tx) => readLiveChild(tx, toolCallId))) !== null) await delay(pollMs);
  }
  await transact((tx) => endWithChild(tx, { runId, toolCallId }));
}

const lost = { code: 'internal_error', message: 'The run was lost and could not be continued.', reason: 'workflow_closed' } as const;

async function endWithChild(tx: TenantTransaction, { runId, toolCallId }: RunToolInput): Promise<void> {
  const locked = await lockRunWithAncestors(tx, runId);
  const call = locked && (await lockCall(tx, runId, toolCallId));
  if (!locked || !call || !isOpen(call) || call.childRunId === null) return;
  const child = await readChild(tx, call.childRunId);
  if (child === null || !isTerminal(child.status)) return;
  const frames = await endChildCall(tx, call, child);
  await settleStatus(tx, locked, { lead: [stateBatch(identityOf(locked.run), frames)] });
}
