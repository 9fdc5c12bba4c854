import { ActivityCancellationType, proxyActivities, proxyLocalActivities, type RetryPolicy } from '@temporalio/workflow';
import type { AgentRunActivities, PlannedCall } from '../contracts/runs/agent-run.ts';

/** Activities that only change rows: short, safe to repeat because the row's state decides, retried until the database is back. */
const stateRetry: RetryPolicy = { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' };

const stateOptions = { startToCloseTimeout: '10 seconds', scheduleToCloseTimeout: '10 minutes', retry: stateRetry } as const;
/** RunOutcome a run is retried longer than anything else. */
const endOptions = { ...stateOptions, scheduleToCloseTimeout: '30 minutes' } as const;

type StateActivity = 'openGates' | 'settleGates' | 'openChild' | 'settleTool';

export const { openGates, settleGates, openChild, settleTool } = proxyActivities<Pick<AgentRunActivities, StateActivity>>(stateOptions);

/** Activities that begin and end a run. */
export type RunBounds = Pick<AgentRunActivities, 'beginRun' | 'finishRun'>;

export const { beginRun } = proxyActivities<Pick<RunBounds, 'beginRun'>>(stateOptions);
export const { finishRun } = proxyActivities<Pick<RunBounds, 'finishRun'>>(endOptions);

/**
 * The same as local activities: the worker that has the workflow task executes them without a task of their own and records them with its completion. If that
 * worker dies, they are executed again once the workflow task has timed out (10 s). Temporal cannot be asked whether such an attempt still counts, so the rows
 * alone decide what it may write.
 */
export const localBounds: RunBounds = {
  beginRun: proxyLocalActivities<Pick<RunBounds, 'beginRun'>>(stateOptions).beginRun,
  finishRun: proxyLocalActivities<Pick<RunBounds, 'finishRun'>>(endOptions).finishRun,
};

/**
 * Temporal's own count is only an upper bound: tries are judged from the row, which also counts those of earlier activities for the same step or call and
 * excludes shutdowns.
 */
const maxTries = 20;

export const { callModel } = proxyActivities<Pick<AgentRunActivities, 'callModel'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: maxTries },
});

/**
 * `runTool`, bounded by the call's own timeout; an exclusive tool gets it twice, since the call may first wait that long for the tool. A write that is not
 * idempotent is attempted once, whatever happens.
 */
export function toolActivity(call: PlannedCall): AgentRunActivities['runTool'] {
  return proxyActivities<Pick<AgentRunActivities, 'runTool'>>({
    startToCloseTimeout: (call.timeoutS * (call.concurrency === 'exclusive' ? 2 : 1) + 10) * 1000,
    heartbeatTimeout: '10 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumAttempts: call.isRepeatable ? maxTries : 1 },
  }).runTool;
}
