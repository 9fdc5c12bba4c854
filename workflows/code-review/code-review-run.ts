import {
  ActivityFailure,
  CancellationScope,
  ContinueAsNew,
  continueAsNew,
  patched,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import { beginRun, finishRun } from '../agent-run/activity-options.ts';
import { outcomeOf, isRunCancellation, type RunOutcome } from '../agent-run/outcome.ts';
import { noDeadline, startDeadline, type Deadline } from './deadline.ts';
import { repair } from './repair.ts';
import type { CodeReviewRunState, FetchedDiff, NextCalls, PlannedStageCall, ReviewRunActivities } from '../contracts/review/review-runs.ts';

const patient = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' } as const;

const { nextCalls, finishReview, endReview } = proxyActivities<ReviewRunActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '20 seconds',
  retry: patient,
});
/** Calls to the host. While it is unavailable they are retried for a day, with growing intervals. */
const host = {
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '20 seconds',
  retry: { ...patient, maximumInterval: '10 minutes' },
} as const;
const { fetchDiff } = proxyActivities<ReviewRunActivities>(host);
const { postReview, postAnswer } = proxyActivities<ReviewRunActivities>({ ...host, startToCloseTimeout: '5 minutes' });
/** Activities without which a review is still complete. */
const { openCheck, settleThreads, concludeCheck } = proxyActivities<ReviewRunActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '20 seconds',
  retry: { ...patient, maximumAttempts: 10 },
});
const { abandonCheck } = proxyActivities<ReviewRunActivities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
  heartbeatTimeout: '20 seconds',
  retry: patient,
});
/** The rows of the steps count the tries of models; this is an upper bound. */
const { askStages } = proxyActivities<ReviewRunActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { ...patient, maximumAttempts: 40 },
});

/** Model calls at once, and the number of events after which the run continues in another execution. */
const callsAtOnce = 4;
const maxEvents = 300;
const fetchStep = 1;
const checkStep = 2;

/**
 * One run of code review from its row to its end, id `run:<run_id>`: reads the pull request, asks models stage by stage, posts what it has found. The rows hold
 * everything; however it ends, `finishRun` is called. Its time limit bounds reading and asking; posting that has begun is completed.
 */
export async function codeReviewRun({ runId, goesOn }: CodeReviewRunState): Promise<void> {
  let hasCheck = goesOn?.checks ?? false;
  let deadline = noDeadline;
  try {
    const begun = await CancellationScope.nonCancellable(() => beginRun({ runId }));
    if (begun.done) return;
    if (begun.cancelRequested) return await endRun(runId, { ending: { reason: 'cancelled' }, hasCheck });
    if (patched('deadline')) deadline = startDeadline(begun.remainingMs);
    const fetched = goesOn ?? (await deadline.within(() => fetchDiff({ runId, step: fetchStep })));
    hasCheck = fetched.checks;
    if (hasCheck && !goesOn) await deadline.within(() => leniently(() => openCheck({ runId, step: checkStep })));
    const isFix = fetched.kind === 'fix';
    const step = isFix ? await repair({ runId, firstStep: fetchStep + 1 }, deadline) : await judge(runId, fetched, deadline);
    if (step === null) return await endRun(runId, { ending: { reason: 'cancelled' }, hasCheck });
    await finishReview({ runId, step });
    await endRun(runId, { ending: { reason: 'stop' }, hasCheck: false });
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await endRun(runId, { ending: outcomeOf(error), hasCheck });
    if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) throw error;
  } finally {
    deadline.stop();
  }
}

/** Asks models and posts their results. Returns the next step, or null as `post` does. */
async function judge(runId: string, fetched: FetchedDiff, deadline: Deadline): Promise<number | null> {
  const { nextStep } = await deadline.within(() => askAll(runId, fetched));
  return post(runId, { fetched, step: nextStep });
}

/** Posts the results of the run. Returns the next step, or null when the pull request has another head or is closed. */
async function post(runId: string, { fetched, step }: { readonly fetched: FetchedDiff; readonly step: number }): Promise<number | null> {
  if (!fetched.posts) return step;
  if (fetched.kind === 'ask') {
    await postAnswer({ runId, step });
    return step + 1;
  }
  const { outcome } = await postReview({ runId, step });
  if (outcome !== 'posted') return null;
  await leniently(() => settleThreads({ runId, step: step + 1 }));
  if (fetched.checks) await leniently(() => concludeCheck({ runId, step: step + 2 }));
  return step + 3;
}

/** A failure here, however long it was retried, does not fail the review; a cancellation is passed on. */
async function leniently(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isRunCancellation(error) || !(error instanceof ActivityFailure)) throw error;
  }
}

/** Asks until no call is left. When the history is long, the run continues in a new one: the answers stand in rows. */
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

/** Ends the run whatever has been cancelled meanwhile: the row decides between succeeded, failed and cancelled. A check that is still open is then ended. */
async function endRun(runId: string, { ending, hasCheck }: { readonly ending: RunOutcome; readonly hasCheck: boolean }): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    await finishRun({ runId, ...ending });
    if (hasCheck) await leniently(() => abandonCheck({ runId }));
    await endReview({ runId });
  });
}
