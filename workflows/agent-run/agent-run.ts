import { CancellationScope, ContinueAsNew, defineSignal, patched, setHandler, workflowInfo } from '@temporalio/workflow';
import { agentRunSignals, type AgentRunInput, type FinishRunResult, type StepWait } from '../contracts/runs/agent-run.ts';
import { beginRun, finishRun, localBounds } from './activity-options.ts';
import { outcomeOf, type RunOutcome } from './outcome.ts';
import { withinTime } from './run-clock.ts';
import type { RunLoop } from './run-loop.ts';
import { startOver } from './start-over.ts';
import { askModel } from './step-wait.ts';
import { runCalls } from './tool-calls.ts';

const stepsPerExecution = 100;

/** Each says that rows have changed: input, a decision, a client's results, or a budget was written. */
const wakeSignals = Object.values(agentRunSignals).map((name) => defineSignal(name));

/**
 * One run from its row to its end, id `run:<run_id>`: turns of one model call and the tool calls it requests. Signals only wake it; the sender of a signal has
 * already written the row. However the loop ends, `finishRun` is called; an error in this code itself then also fails the workflow, so that it is noticed.
 */
export async function agentRun({ runId, step = 1, wait }: AgentRunInput): Promise<void> {
  const whole = CancellationScope.current();
  // Runs started before this patch keep using ordinary activities to begin and end.
  const bounds = patched('local-bounds') ? localBounds : { beginRun, finishRun };
  const loop: RunLoop = { runId, bounds, wakes: 0, hasWaited: false, waitsEnded: 0, isCancelled: () => whole.consideredCancelled };

  for (const signal of wakeSignals) setHandler(signal, () => void loop.wakes++);
  try {
    const begun = await CancellationScope.nonCancellable(() => bounds.beginRun({ runId }));

    if (begun.done) return;
    if (begun.cancelRequested) return await endRun(loop, { reason: 'cancelled' });
    await withinTime(loop, begun.remainingMs, () => takeTurns(loop, { firstStep: step, maxSteps: begun.maxSteps, wait }));
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await endRun(loop, outcomeOf(error));
    if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) throw error;
  }
}

interface Turns {
  readonly firstStep: number;
  readonly maxSteps: number;
  /** The wait that precedes the first of these turns. */
  readonly wait: StepWait | undefined;
}

/** Takes turns until the run has ended, or until the history is so long that the run continues in a new one. */
async function takeTurns(loop: RunLoop, { firstStep, maxSteps, wait }: Turns): Promise<void> {
  const { runId } = loop;

  for (let step = firstStep; step <= maxSteps; step++) {
    if (step > firstStep && isHistoryLong(step - firstStep)) await startOver(runId, step);
    const turn = await askModel(loop, step, step === firstStep ? wait : undefined);

    switch (turn.outcome) {
      case 'calls':
        await runCalls(loop, step, turn.calls);
        break;
      case 'final':
        if (!(await finish(loop, { reason: 'stop', step })).more) return;
        break;
      case 'refused':
      case 'max_output':
        return await endRun(loop, { reason: turn.outcome });
      default:
        turn satisfies never;
    }
  }
  await endRun(loop, { reason: 'max_steps' });
}

/** Calls `finishRun` whatever has been cancelled meanwhile: the row decides between stop and cancelled. */
function finish({ runId, bounds }: RunLoop, outcome: RunOutcome): Promise<FinishRunResult> {
  return CancellationScope.nonCancellable(() => bounds.finishRun({ runId, ...outcome }));
}

async function endRun(loop: RunLoop, outcome: RunOutcome): Promise<void> {
  await finish(loop, outcome);
}

function isHistoryLong(stepsTaken: number): boolean {
  return stepsTaken >= stepsPerExecution || workflowInfo().continueAsNewSuggested;
}
