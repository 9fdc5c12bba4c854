import type { WorkerOptions } from '@temporalio/worker';
import type { TaskQueue } from '../workflows/contracts/queues.ts';

type Tuning = Pick<
  WorkerOptions,
  | 'maxCachedWorkflows'
  | 'maxConcurrentWorkflowTaskExecutions'
  | 'maxConcurrentActivityTaskExecutions'
  | 'workflowTaskPollerBehavior'
  | 'activityTaskPollerBehavior'
  | 'nonStickyToStickyPollRatio'
  | 'stickyQueueScheduleToStartTimeout'
  | 'maxHeartbeatThrottleInterval'
  | 'defaultHeartbeatThrottleInterval'
  | 'reuseV8Context'
  | 'workflowThreadPoolSize'
  | 'shutdownGraceTime'
  | 'shutdownForceTime'
  | 'workflowFailureErrorTypes'
>;

const common = {
  workflowTaskPollerBehavior: { type: 'simple-maximum', maximum: 5 },
  activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 4 },
  // One of five pollers asks for new runs. With more, many new runs would delay the next steps of those under way.
  nonStickyToStickyPollRatio: 0.2,
  stickyQueueScheduleToStartTimeout: '5 seconds',
  // Heartbeats come every 1.5 s; a cancellation arrives with the reply, so none may be held back for long.
  maxHeartbeatThrottleInterval: '1 second',
  defaultHeartbeatThrottleInterval: '1 second',
  reuseV8Context: true,
  workflowThreadPoolSize: 1,
  // A mistake in workflow code ends that run at once instead of being retried for ever.
  workflowFailureErrorTypes: { '*': ['TypeError', 'RangeError', 'ReferenceError'] },
} satisfies Tuning;

/** Settings by queue: `runs` serves people and takes many small tasks, `bulk` takes few long ones with time to end them. */
export const tuning: Readonly<Record<TaskQueue, Tuning>> = {
  runs: {
    ...common,
    maxCachedWorkflows: 300,
    maxConcurrentWorkflowTaskExecutions: 20,
    maxConcurrentActivityTaskExecutions: 60,
    shutdownGraceTime: '30 seconds',
    shutdownForceTime: '45 seconds',
  },
  bulk: {
    ...common,
    maxCachedWorkflows: 100,
    maxConcurrentWorkflowTaskExecutions: 10,
    maxConcurrentActivityTaskExecutions: 8,
    shutdownGraceTime: '120 seconds',
    shutdownForceTime: '135 seconds',
  },
};
