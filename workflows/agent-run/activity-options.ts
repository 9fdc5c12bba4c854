import { ActivityCancellationType, proxyActivities, type RetryPolicy } from '@temporalio/workflow';
import type { AgentRunActivities, PlannedCall } from '../contracts/agent-run.ts';

/** Activities that only change rows: short, repeatable by row state, tried until the database is back. */
const stateRetry: RetryPolicy = { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' };

type StateActivity = 'beginRun' | 'openGates' | 'settleGates' | 'openChild' | 'settleTool';

export const { beginRun, openGates, settleGates, openChild, settleTool } = proxyActivities<Pick<AgentRunActivities, StateActivity>>({
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '10 minutes',
  retry: stateRetry,
});

export const { finishRun } = proxyActivities<Pick<AgentRunActivities, 'finishRun'>>({
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '30 minutes',
  retry: stateRetry,
});

/**
 * Temporal's own count is only an upper bound: tries are judged from the row, which also counts those of earlier
 * activities for the same step or call and leaves out shutdowns.
 */
const maxTries = 20;

export const { callModel } = proxyActivities<Pick<AgentRunActivities, 'callModel'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: maxTries },
});

/** `runTool` bounded by the call's own timeout, which an exclusive tool may first be waited for as long; a write that is not idempotent is attempted once, whatever happens. */
export function toolActivity(call: PlannedCall): AgentRunActivities['runTool'] {
  return proxyActivities<Pick<AgentRunActivities, 'runTool'>>({
    startToCloseTimeout: (call.timeoutS * (call.concurrency === 'exclusive' ? 2 : 1) + 10) * 1000,
    heartbeatTimeout: '10 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumAttempts: call.isRepeatable ? maxTries : 1 },
  }).runTool;
}
