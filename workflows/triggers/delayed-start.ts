import { continueAsNew, proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';
import type { DelayedStartActivities } from '../contracts/runs/delayed-start.ts';

const { admitRun } = proxyActivities<DelayedStartActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

/**
 * Id `start:<run>`, begun by Temporal when the run is due: makes the run active or leaves it queued, with unlimited tries; the row says when nothing is left to
 * do. Cancelled together with a run that is cancelled before its time.
 */
export async function delayedStart({ runId }: { readonly runId: string }): Promise<void> {
  for (;;) {
    const { done, dueInMs } = await admitRun({ runId });
    if (done) return;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof delayedStart>({ runId });
    await sleep(dueInMs);
  }
}
