import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { PolicyActivities, PolicyInput } from '../contracts/knowledge/runs.ts';

const { startPolicyRun } = proxyActivities<Pick<PolicyActivities, 'startPolicyRun'>>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 20 },
});

/** Started by the schedule `maint:policy:<kb>`: begins the maintenance run that the policy calls for. */
export async function policyRun({ kbId }: PolicyInput): Promise<void> {
  await startPolicyRun({ kbId, occasion: workflowInfo().runId });
}
