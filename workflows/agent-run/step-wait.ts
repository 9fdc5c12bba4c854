import { sleep, workflowInfo } from '@temporalio/workflow';
import type { CallModelResult, StepWait } from '../contracts/runs/agent-run.ts';
import { callModel, openGates, settleGates } from './activity-options.ts';
import { RunEnded } from './outcome.ts';
import { withGrace } from './grace.ts';
import { untilWoken, type RunLoop } from './run-loop.ts';
import { startOver } from './start-over.ts';

/** Time that a cancelled model call gets to settle its cost, so that the run's last frame includes all of it. */
const modelGraceMs = 1000;
const maxPauseMs = 30_000;

/** The result of a model call that was not put off by a wait. */
export type Turn = Exclude<CallModelResult, { readonly outcome: 'wait' }>;

/** Returns the step's turn. Waits out `before` first, and calls the model again after each wait of the run that precedes the turn. */
export async function askModel(loop: RunLoop, step: number, before?: StepWait): Promise<Turn> {
  if (before) await waitOut(loop, step, before);
  for (let waits = 0; ; waits++) {
    const turn = await withGrace(callModel({ runId: loop.runId, step }), modelGraceMs);

    if (turn.outcome !== 'wait') return turn;
    // Other runs may use up what has become free: repeated calls therefore back off.
    if (waits > 0 && turn.wait.on === 'budget') await sleep(Math.min(1000 * 2 ** (waits - 1), maxPauseMs));
    await waitOut(loop, step, turn.wait);
    if (workflowInfo().continueAsNewSuggested) await startOver(loop.runId, step);
  }
}

/** Opens a wait of the run itself and checks its rows after each signal until it is over. Throws RunEnded when the end of the wait ends the run. */
async function waitOut(loop: RunLoop, step: number, wait: StepWait): Promise<void> {
  loop.hasWaited = true;
  for (let check = openGates; ; check = settleGates) {
    const seen = loop.wakes;
    const { open, nextMs, ends } = await check({ runId: loop.runId, step, wait });

    if (ends) throw new RunEnded(ends);
    if (open === 0) break;
    // No signal shortens a delay that a provider has asked for.
    if (wait.on === 'timer') await sleep(Math.max(nextMs, 1000));
    else await untilWoken(loop, { seen, nextMs });
  }
  loop.waitsEnded++;
}
