import {
  allHandlersFinished,
  CancellationScope,
  condition,
  ContinueAsNew,
  continueAsNew,
  defineSignal,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { agentRunSignals, type AgentRunInput } from '../contracts/agent-run.ts';
import { beginRun, callModel, finishRun } from './activity-options.ts';
import { withGrace } from './grace.ts';
import { DeadlinePassed, endingOf, isRunCancellation, type Ending } from './ending.ts';
import { runCalls } from './tool-calls.ts';

const stepsPerExecution = 100;
/** What a cancelled model call gets to settle what it has cost, so that the run's last frame tells all of it. */
const modelGraceMs = 1000;

/** Unread input may be waiting in its row. */
export const inputAddedSignal = defineSignal(agentRunSignals.inputAdded);

/**
 * One run from its row to its end, id `run:<run_id>`: turns of one model call and the tool calls it asks for.
 * Signals only wake it, whoever sends one has written the row. However the loop ends, `finishRun` has been told;
 * an error of this code itself then fails the workflow too, so that it is seen.
 */
export async function agentRun({ runId, step = 1 }: AgentRunInput): Promise<void> {
  setHandler(inputAddedSignal, noteWake);

  try {
    const begun = await CancellationScope.nonCancellable(() => beginRun({ runId }));

    if (begun.done) return;
    if (begun.cancelRequested) return await endRun(runId, { reason: 'cancelled' });
    await withinTime(begun.remainingMs, () => takeTurns({ runId, firstStep: step, maxSteps: begun.maxSteps }));
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await endRun(runId, endingOf(error));
    if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) throw error;
  }
}

interface Turns {
  readonly runId: string;
  readonly firstStep: number;
  readonly maxSteps: number;
}

/** Turns until the run has ended, or until its history is long enough to go on in a new one. */
async function takeTurns({ runId, firstStep, maxSteps }: Turns): Promise<void> {
  for (let step = firstStep; step <= maxSteps; step++) {
    if (step > firstStep && isHistoryLong(step - firstStep)) await startOver(runId, step);
    const turn = await withGrace(callModel({ runId, step }), modelGraceMs);

    switch (turn.outcome) {
      case 'calls':
        await runCalls(runId, turn.calls);
        break;
      case 'final':
        if (!(await finish(runId, { reason: 'stop' })).more) return;
        break;
      case 'refused':
      case 'max_output':
        return await endRun(runId, { reason: turn.outcome });
      default:
        turn satisfies never;
    }
  }
  await endRun(runId, { reason: 'max_steps' });
}

/** `finishRun` whatever has been cancelled meanwhile: the row decides between stop and cancelled. */
function finish(runId: string, ending: Ending): ReturnType<typeof finishRun> {
  return CancellationScope.nonCancellable(() => finishRun({ runId, ...ending }));
}

async function endRun(runId: string, ending: Ending): Promise<void> {
  await finish(runId, ending);
}

/** Runs `work` and stops it when the run's time is over. One timer a run, none a step: a step's history stays short. */
async function withinTime(remainingMs: number, work: () => Promise<void>): Promise<void> {
  if (remainingMs <= 0) throw new DeadlinePassed();
  const body = new CancellationScope();
  const clock = new CancellationScope();
  let isOver = false;

  clock
    .run(() => sleep(remainingMs))
    .then(() => {
      isOver = true;
      body.cancel();
    })
    .catch(() => undefined);
  try {
    await body.run(work);
  } catch (error) {
    throw isOver && isRunCancellation(error) ? new DeadlinePassed() : error;
  } finally {
    clock.cancel();
  }
}

function isHistoryLong(stepsTaken: number): boolean {
  return stepsTaken >= stepsPerExecution || workflowInfo().continueAsNewSuggested;
}

/** Goes on in a new execution; called between steps only, with no activity, child or timer of a step open. */
async function startOver(runId: string, step: number): Promise<never> {
  await condition(allHandlersFinished);
  return continueAsNew<typeof agentRun>({ runId, step });
}

/** Input is read from rows before each model call and by `finishRun`, so the signal itself has nothing to carry. */
function noteWake(): void {}
