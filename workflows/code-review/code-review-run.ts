import { CancellationScope, ContinueAsNew, continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import { beginRun, finishRun } from '../agent-run/activity-options.ts';
import { endingOf, type Ending } from '../agent-run/ending.ts';
import { repair } from './repair.ts';
import type { CodeReviewRunState, FetchedDiff, NextCalls, PlannedStageCall, ReviewRunActivities } from '../contracts/review-runs.ts';

const patient = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' } as const;

const { nextCalls, finishReview, endReview } = proxyActivities<ReviewRunActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '20 seconds',
  retry: patient,
});
/** The host is asked; away, it is asked again for a day, ever more seldom. */
const host = {
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '20 seconds',
  retry: { ...patient, maximumInterval: '10 minutes' },
} as const;
const { fetchDiff } = proxyActivities<ReviewRunActivities>(host);
/** Tries of models are counted in the rows of their steps; this is an upper bound. */
const { askStages } = proxyActivities<ReviewRunActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { ...patient, maximumAttempts: 40 },
});

/** Calls of models at once, and events after which the run goes on in another execution. */
const callsAtOnce = 4;
const maxEvents = 300;
const fetchStep = 1;

/**
 * One run of code review from its row to its end, id `run:<run_id>`: reads the pull request, asks models stage by stage, tells what it has found. The rows hold everything; however it
 * ends, `finishRun` has been told.
 */
export async function codeReviewRun({ runId, goesOn }: CodeReviewRunState): Promise<void> {
  try {
    const begun = await CancellationScope.nonCancellable(() => beginRun({ runId }));
    if (begun.done) return;
    if (begun.cancelRequested) return await endRun(runId, { reason: 'cancelled' });
    const fetched = goesOn ?? (await fetchDiff({ runId, step: fetchStep }));
    const step = fetched.kind === 'fix' ? await repair({ runId, firstStep: fetchStep + 1 }) : (await askAll(runId, fetched)).nextStep;
    await finishReview({ runId, step });
    await endRun(runId, { reason: 'stop' });
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await endRun(runId, endingOf(error));
    if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) throw error;
  }
}

/** Asks until nothing is left to ask. A long history goes on in a new one: what was answered stands in rows. */
async function askAll(runId: string, fetched: FetchedDiff): Promise<NextCalls> {
  for (;;) {
    const next = await nextCalls({ runId });
    if (next.calls.length === 0) return next;
    for (const calls of chunksOf(next.calls)) await askStages({ runId, calls });
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (historyLength >= maxEvents || continueAsNewSuggested) await continueAsNew<typeof codeReviewRun>({ runId, goesOn: fetched });
  }
}

function chunksOf(calls: readonly PlannedStageCall[]): (readonly PlannedStageCall[])[] {
  const chunks: (readonly PlannedStageCall[])[] = [];
  for (let at = 0; at < calls.length; at += callsAtOnce) chunks.push(calls.slice(at, at + callsAtOnce));
  return chunks;
}

/** Whatever has been cancelled meanwhile: the row decides between succeeded, failed and cancelled. */
async function endRun(runId: string, ending: Ending): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    await finishRun({ runId, ...ending });
    await endReview({ runId });
  });
}
