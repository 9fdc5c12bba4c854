import { moveApprovals, type MovedGates } from '../../domain/approvals/move-gates.ts';
import { nothingOpen } from '../../db/approvals/gate-state.ts';
import { moveRunWait } from '../../domain/approvals/run-waits.ts';
import { cancelRun } from '../../domain/runs/end/cancel-run.ts';
import { lockRunWithAncestors } from '../../db/runs/run-state.ts';
import { failWaiting } from '../../domain/evaluations/lifecycle.ts';
import type { AgentRunActivities, GatesInput, CallApprovalState } from '../../workflows/contracts/runs/agent-run.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { refusalOf } from '../tools/calls/refusal.ts';

/** The activities of what a run waits for. Both decide by rows and may be repeated. */
export function createGateActivities(deps: ActivityDeps): Pick<AgentRunActivities, 'openGates' | 'settleGates'> {
  return {
    openGates: (input) => checkStep(deps, input, true),
    settleGates: (input) => checkStep(deps, input, false),
  };
}

async function checkStep(deps: ActivityDeps, input: GatesInput, opens: boolean): Promise<CallApprovalState> {
  const { cancels, ...state } = await transactAsRun(deps, input.runId, async (tx): Promise<MovedGates> => {
    const locked = await lockRunWithAncestors(tx, input.runId);
    if (!locked) return nothingOpen;
    const { step, wait } = input;
    return wait ? moveRunWait(tx, locked, { step, wait, opens }) : moveApprovals(tx, locked, { step, refusalOf });
  });
  return cancels === undefined ? state : cancelTree(deps, input.runId, cancels);
}

/** Inside an evaluation no person answers: the whole run is cancelled, in a separate transaction, since the conversation is locked first. */
async function cancelTree(deps: ActivityDeps, runId: string, rootId: string): Promise<CallApprovalState> {
  const cancel = { runId: rootId, policy: 'interrupt', reason: 'evaluation' } as const;
  await transactAsRun(deps, runId, (tx) => cancelRun(tx, cancel).then(() => failWaiting(tx, rootId))).catch((error: unknown) => {
    // Ended in the meantime, which is as good as cancelled.
    if (!(error instanceof Failure) || (error.code !== 'state_conflict' && error.code !== 'not_found')) throw error;
  });
  return { ...nothingOpen, ends: 'cancelled' };
}
