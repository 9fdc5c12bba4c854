import { defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { policyChanged, type PolicyActivities, type PolicyInput } from '../contracts/knowledge/runs.ts';

const { syncPolicy } = proxyActivities<Pick<PolicyActivities, 'syncPolicy'>>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const policyChangedSignal = defineSignal(policyChanged);

/** Workflow `maint:policy-sync:<kb>`: upserts Temporal's schedule from the newest policy until the policy no longer changes meanwhile. */
export async function policySync({ kbId }: PolicyInput): Promise<void> {
  let isDue = true;
  setHandler(policyChangedSignal, () => {
    isDue = true;
  });

  while (isDue) {
    isDue = false;
    if (!(await syncPolicy({ kbId }))) isDue = true;
  }
}
