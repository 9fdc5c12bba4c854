import { continueAsNew, proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';
import type { DelayedStartActivities } from '../contracts/runs/delayed-start.ts';

const { admitRun } = proxyActivities<DelayedStartActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

/**
 * Id `start:<run>`, begun by Temporal when the run is due: makes the run active or lets it stand in line. No try is the last; the row says when
 * there is nothing left to do. Cancelled with a run that was cancelled before its time.
 */
export async function delayedStart({ runId }: { readonly runId: string }): Promise<void> {
  for (;;) {
    const { done, dueInMs } = await admitRun({ runId });
    if (done) return;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof delayedStart>({ runId });
    await sleep(dueInMs);
  }
}
