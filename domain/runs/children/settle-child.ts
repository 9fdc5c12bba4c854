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

/** How long a child that is told to end with its parent may take to say what it has cost. */
const graceMs = 3_000;
const lookMs = 150;

type Transact = <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;

/** Ends a delegate call with the end of its child, whose workflow is over. A child whose row is not was lost with it, and is ended first. */
export async function settleChild(
  { transact }: { readonly transact: Transact },
  { runId, toolCallId }: RunToolInput,
): Promise<SettleToolResult> {
  const live = await transact((tx) => readLiveChild(tx, toolCallId));
  // Its own locks come first: conversation, then runs.
  if (live !== null) await transact((tx) => finishRun(tx, { runId: live, reason: 'error', error: lost }));
  await transact((tx) => endWithChild(tx, { runId, toolCallId }));
  return { again: false };
}

/**
 * A parent that is ending waits for its child no longer: it is told to end too, and given a moment for it, so that the parent's last frame tells all
 * that was spent. What still lives then goes with the parent's own end.
 */
export async function leaveChild({ transact }: { readonly transact: Transact }, { runId, toolCallId }: RunToolInput): Promise<void> {
  const childRunId = await transact((tx) => readLiveChild(tx, toolCallId));
  if (childRunId !== null) {
    await transact(async (tx) => {
      const locked = await lockForCancel(tx, [childRunId]);
      await cancelLocked(tx, { ...locked, runIds: [childRunId] }, { policy: 'interrupt', reason: 'parent_ended' });
    });
    const end = performance.now() + graceMs;
    while (performance.now() < end && (await transact((tx) => readLiveChild(tx, toolCallId))) !== null) await delay(lookMs);
  }
  await transact((tx) => endWithChild(tx, { runId, toolCallId }));
}

const lost = { code: 'internal_error', message: 'The run was lost and could not be continued.', reason: 'workflow_closed' } as const;

async function endWithChild(tx: TenantTransaction, { runId, toolCallId }: RunToolInput): Promise<void> {
  const locked = await lockRunWithAncestors(tx, runId);
  const call = locked && (await lockCall(tx, runId, toolCallId));
  if (!locked || !call || !isOpen(call) || call.child_run_id === null) return;
  const child = await readChild(tx, call.child_run_id);
  if (child === null || !isTerminal(child.status)) return;
  const frames = await endChildCall(tx, call, child);
  await settleStatus(tx, locked, { lead: [stateBatch(identityOf(locked.run), frames)] });
}
