import { workflowInfo } from '@temporalio/workflow';
import type { PlannedCall } from '../contracts/runs/agent-run.ts';
import { openGates, settleGates } from './activity-options.ts';
import { RunEnded } from './outcome.ts';
import { untilWoken, type RunLoop } from './run-loop.ts';
import { startOver } from './start-over.ts';

/** How the approvals of a step act on its calls. */
export interface StepApprovals {
  /** A call awaits approval and its question has not been opened yet. */
  mustAsk: boolean;
  /** Executes calls that are ready; the same call may be passed again. */
  readonly start: (ready: readonly PlannedCall[]) => void;
  /** No call of the step is being executed. */
  readonly isIdle: () => boolean;
}

/**
 * Opens the questions of a step and its clients' calls, then starts what becomes ready, until none is open. A signal only wakes: the answers stand in rows.
 * Throws RunEnded when a required answer did not come.
 */
export async function awaitApprovals(loop: RunLoop, step: number, gates: StepApprovals): Promise<void> {
  const { runId } = loop;

  loop.hasWaited = true;
  for (;;) {
    const seen = loop.wakes;
    const check = gates.mustAsk ? openGates : settleGates;
    gates.mustAsk = false;
    const { ready, open, nextMs, ends } = await check({ runId, step });

    if (ends) throw new RunEnded(ends);
    gates.start(ready);
    if (gates.mustAsk) continue;
    if (open === 0) break;
    // The new execution resumes the step from its rows: questions that are open now stay the same.
    if (workflowInfo().continueAsNewSuggested && gates.isIdle()) await startOver(runId, step);
    await untilWoken(loop, { seen, nextMs, orWhen: () => gates.mustAsk });
  }
  loop.waitsEnded++;
}
