import {
  ActivityFailure,
  condition,
  continueAsNew,
  defineSignal,
  ParentClosePolicy,
  proxyActivities,
  setHandler,
  startChild,
  workflowInfo,
  type ChildWorkflowHandle,
  type Workflow,
} from '@temporalio/workflow';
import { pullRequestChanged, type PullRequestActivities, type PullRequestInput } from '../contracts/review/pull-requests.ts';
import { workflowIds } from '../contracts/queues.ts';

const patient = { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '30 seconds' } as const;

const { applyEvent, openReviewRun, endReviewRun, dropCommand } = proxyActivities<PullRequestActivities>({
  startToCloseTimeout: '10 seconds',
  retry: patient,
});
/** Calls to the host. While it is unavailable they are retried for a day. */
const { readReactions } = proxyActivities<PullRequestActivities>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '20 seconds',
  retry: patient,
});
const { takeCommand, reactToCommand, replyToCommand, settlePullThreads } = proxyActivities<PullRequestActivities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '24 hours',
  retry: { ...patient, maximumInterval: '10 minutes' },
});

export const pullRequestChangedSignal = defineSignal(pullRequestChanged);

/** Numbers of signals and of history events after which it continues as new. */
const maxSignals = 200;
const maxEvents = 1_500;
const lostChildMs = 10_000;

/**
 * Id `review:<binding>:<pull>`: processes what arrives for a pull request in order, with one run of it at work at a time. The rows say what has arrived and
 * what is due; it ends when nothing is, and a signal starts it anew.
 */
export async function pullRequest(input: PullRequestInput): Promise<void> {
  let signals = 0;
  let hasNew = true;
  setHandler(pullRequestChangedSignal, () => {
    signals++;
    hasNew = true;
  });

  let child: AtWork | null = null;
  for (;;) {
    hasNew = false;
    if (child?.isOver) {
      await endReviewRun({ runId: child.runId });
      child = null;
    }
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (child === null && (signals >= maxSignals || historyLength >= maxEvents || continueAsNewSuggested))
      await continueAsNew<typeof pullRequest>(input);

    const step = await applyEvent({ ...input, runId: child?.runId ?? null });
    const atWork: AtWork | null = child;
    switch (step.kind) {
      case 'run':
        child = await begin(step.runId);
        // That run already has a workflow that is not our child: its parent was lost.
        if (child === null) await condition(() => hasNew, lostChildMs);
        break;
      case 'command':
        await obey(input, step.commandId);
        break;
      case 'open':
        await openReviewRun(input);
        break;
      case 'reactions':
        await readReactions(input);
        break;
      case 'again':
        break;
      case 'wait':
        await condition(() => hasNew || atWork?.isOver === true, step.waitMs);
        break;
      case 'end':
        if (!hasNew) return;
        break;
      default:
        step satisfies never;
    }
  }
}

const unheard = { isAccepted: false, hasReply: false, threads: false };

/** A failure to tell the host about a command does not fail what the command did. */
async function obey(input: PullRequestInput, commandId: string): Promise<void> {
  const { isAccepted, hasReply, threads } = await takeCommand({ commandId }).catch(async (error: unknown) => {
    if (!(error instanceof ActivityFailure)) throw error;
    await dropCommand({ commandId });
    return unheard;
  });
  if (isAccepted) await silently(reactToCommand({ commandId }));
  if (hasReply) await silently(replyToCommand({ commandId }));
  if (threads) await silently(settlePullThreads(input));
}

async function silently(told: Promise<void>): Promise<void> {
  try {
    await told;
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
  }
}

interface AtWork {
  readonly runId: string;
  /** Its workflow has closed, whatever the outcome. */
  isOver: boolean;
}

/**
 * Starts the workflow of a run, which ends the run's row. It is cancelled through its row, and together with this workflow. Returns null when one is already
 * open.
 */
async function begin(runId: string): Promise<AtWork | null> {
  const atWork: AtWork = { runId, isOver: false };
  const over = () => {
    atWork.isOver = true;
  };
  try {
    const handle: ChildWorkflowHandle<Workflow> = await startChild('codeReviewRun', {
      workflowId: workflowIds.run(runId),
      // A run whose workflow was lost, or closed without ending the run, continues from its rows.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [{ runId }],
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      memo: workflowInfo().memo ?? {},
    });
    handle.result().then(over, over);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'WorkflowExecutionAlreadyStartedError') throw error;
    return null;
  }
  return atWork;
}
