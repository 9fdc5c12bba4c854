import { continueAsNew, defineSignal, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { stateChanged, type StopActivities } from '../contracts/upkeep/operator.ts';

const { cancelRuns } = proxyActivities<StopActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

/** The row has changed: its new state counts. */
export const stateChangedSignal = defineSignal(stateChanged);

/**
 * Id `maint:org-stop:<organization>`: started by every operation that suspends, deletes or resumes the organization. While the row says that the organization
 * is stopped, its live runs are cancelled, 200 per round; each round reads the row anew, so the newest state wins. Survives any restart, with unlimited tries.
 */
export async function orgStop(): Promise<void> {
  let isDue = true;
  setHandler(stateChangedSignal, () => {
    isDue = true;
  });

  while (isDue) {
    isDue = false;
    const { isStopped, cancelled } = await cancelRuns();
    if (isStopped && cancelled > 0) isDue = true;
    if (isDue && workflowInfo().continueAsNewSuggested) await continueAsNew<typeof orgStop>();
  }
}

/** Id `maint:ws-stop:<workspace>`: the same for a workspace that is archived or restored. */
export async function wsStop(): Promise<void> {
  await orgStop();
}
