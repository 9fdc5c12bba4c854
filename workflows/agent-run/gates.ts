import { workflowInfo } from '@temporalio/workflow';
import type { PlannedCall } from '../contracts/runs/agent-run.ts';
import { openGates, settleGates } from './activity-options.ts';
import { RunEnds } from './ending.ts';
import { untilWoken, type RunLoop } from './run-loop.ts';
import { startOver } from './start-over.ts';

/** What the questions of a step have to do with its calls. */
export interface StepApprovals {
  /** A call stands before people whose question has not been put yet. */
  mustAsk: boolean;
  /** Executes calls that may be; the same may be given again. */
  readonly start: (ready: readonly PlannedCall[]) => void;
  /** Nothing of the step is executed. */
  readonly isIdle: () => boolean;
}

/**
 * Puts the questions of a step and opens its clients' calls, then starts what becomes ready, until none is open. A signal only wakes: what
 * was answered stands in rows. Throws RunEnds when an answer that had to come did not.
 */
export async function answerGates(loop: RunLoop, step: number, gates: StepApprovals): Promise<void> {
  const { runId } = loop;

  loop.hasWaited = true;
  for (;;) {
    const seen = loop.wakes;
    const look = gates.mustAsk ? openGates : settleGates;
    gates.mustAsk = false;
    const { ready, open, nextMs, ends } = await look({ runId, step });

    if (ends) throw new RunEnds(ends);
    gates.start(ready);
    if (gates.mustAsk) continue;
    if (open === 0) break;
    // The step is taken up from its rows: questions that are open then are the same ones.
    if (workflowInfo().continueAsNewSuggested && gates.isIdle()) await startOver(runId, step);
    await untilWoken(loop, { seen, nextMs, orWhen: () => gates.mustAsk });
  }
  loop.waitsEnded++;
}
