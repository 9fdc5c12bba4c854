import type { RunToolInput, SettleToolResult } from '../../workflows/contracts/agent-run.ts';
import { isTerminal } from '../../workflows/contracts/runs.ts';
import { row } from '../sql.ts';
import { stateBatch } from '../streams/append.ts';
import type { Unit } from '../unit.ts';
import { isOpen, lockCall } from './call-state.ts';
import { endChildCall, readChild } from './child-end.ts';
import { finishRun } from './finish-run.ts';
import { identityOf, lockRunWithAncestors } from './run-state.ts';
import { settleStatus } from './waiting.ts';

/** Ends a delegate call with the end of its child, whose workflow is over. A child whose row is not was lost with it, and is ended first. */
export async function settleChild(
  { transact }: { readonly transact: <R>(work: (unit: Unit) => Promise<R>) => Promise<R> },
  { runId, toolCallId }: RunToolInput,
): Promise<SettleToolResult> {
  const live = await transact((unit) => readLiveChild(unit, toolCallId));
  // Its own locks come first: conversation, then runs.
  if (live !== null) await transact((unit) => finishRun(unit, { runId: live, reason: 'error', error: lost }));
  await transact((unit) => endWithChild(unit, { runId, toolCallId }));
  return { again: false };
}

const lost = { code: 'internal_error', message: 'The run was lost and could not be continued.', reason: 'workflow_closed' } as const;

async function readLiveChild(unit: Unit, toolCallId: string): Promise<string | null> {
  const found = await row<{ id: string; status: Parameters<typeof isTerminal>[0] }>(
    unit.em,
    'select r.id, r.status from tool_calls c join runs r on r.id = c.child_run_id where c.id = ?',
    [toolCallId],
  );
  return found === null || isTerminal(found.status) ? null : found.id;
}

async function endWithChild(unit: Unit, { runId, toolCallId }: RunToolInput): Promise<void> {
  const locked = await lockRunWithAncestors(unit, runId);
  const call = locked && (await lockCall(unit, runId, toolCallId));
  if (!locked || !call || !isOpen(call) || call.child_run_id === null) return;
  const child = await readChild(unit, call.child_run_id);
  if (child === null || !isTerminal(child.status)) return;
  const frames = await endChildCall(unit, call, child);
  await settleStatus(unit, locked, { lead: [stateBatch(identityOf(locked.run), frames)] });
}
