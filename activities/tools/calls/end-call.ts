import type { CallState } from '../../../db/runs/calls/call-state.ts';
import { appendResult, endCallBeside } from '../../../domain/runs/calls/tool-calls.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { RunToolInput, RunToolResult } from '../../../workflows/contracts/runs/agent-run.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import type { CallOutcome } from '../../../db/runs/calls/call-rows.ts';
import { lockRunWithAncestors } from '../../../db/runs/run-state.ts';
import { settleStatus } from '../../../domain/runs/waiting.ts';

export interface EndedCall {
  readonly call: CallState;
  /** The try that ends the call; null: it ends the call whatever try holds it. */
  readonly attempt: number | null;
  readonly end: CallOutcome;
}

/** Ends a call in one transaction; where other calls of the run await a person, a second one settles what the run waits for. */
export async function endAndSettle(
  deps: ActivityDeps,
  { runId }: RunToolInput,
  judge: (tx: TenantTransaction) => Promise<EndedCall | 'gated' | null>,
): Promise<RunToolResult> {
  const done = await transactAsRun(deps, runId, async (tx) => {
    const ended = await judge(tx);
    if (ended === null || ended === 'gated') return { gated: ended === 'gated', hasWaits: false };
    const { call, attempt, end } = ended;
    const result = await endCallBeside(tx, call, attempt, end);
    // Without a try of its own, it uses a number above every try of the call, so that a try that still holds the call is fenced from now on.
    if (result !== null) await appendResult(tx, call, attempt ?? call.attempt + 1, result.frame);
    return { gated: false, hasWaits: result !== null && (result.hasWaits || call.runStatus === 'waiting') };
  });
  if (done.hasWaits) await settleRun(deps, runId);
  return { gated: done.gated };
}

/** Whether an admin has to approve it, as the run pinned it or by its tool's current row. */
export function isCritical(call: CallState): boolean {
  return call.critical || call.live?.critical === true;
}

/** Settles whether a run waits after a part of it has ended, in a separate transaction. May be repeated. */
export async function settleRun(deps: ActivityDeps, runId: string): Promise<void> {
  await transactAsRun(deps, runId, async (tx) => {
    const locked = await lockRunWithAncestors(tx, runId);
    if (locked) await settleStatus(tx, locked);
  });
}
