import { CancellationScope, CancelledFailure, executeChild, ParentClosePolicy, TemporalFailure, workflowInfo } from '@temporalio/workflow';
import type { AgentRunInput, OpenChildResult, PlannedCall, RunToolInput } from '../contracts/runs/agent-run.ts';
import { workflowIds } from '../contracts/queues.ts';
import { openChild, settleTool } from './activity-options.ts';
import { withGrace } from './grace.ts';
import { untilWoken, type RunLoop } from './run-loop.ts';
import type { CallOutcome } from './tool-call.ts';

/** A run that is cancelled with its parent ends by itself, within the grace period of its own tools. */
const childGraceMs = 15_000;
const maxPauseMs = 1_800_000;

type Child = NonNullable<OpenChildResult['child']>;

/** Works on one delegate call until it has a result. Another agent's run executes it; that run's row says how it ended, whatever became of its workflow. */
export async function runChildCall(loop: RunLoop, { toolCallId }: PlannedCall): Promise<CallOutcome> {
  const input = { runId: loop.runId, toolCallId };
  let cause: 'child' | 'cancelled' = 'cancelled';

  try {
    const { child, from, gated } = await openChild(input);

    if (gated) return 'gated';
    if (child === null) return 'over';
    await execute(loop, child, { runId: child.runId, ...from });
    cause = 'child';
    return await settleChild(loop, input);
  } catch (error) {
    if (!CancellationScope.current().consideredCancelled) throw error;
    await CancellationScope.nonCancellable(() => settleTool({ ...input, cause }));
    throw new CancelledFailure('run cancelled');
  }
}

/**
 * Runs the child's own workflow to its end. It is no error here if that workflow fails, is ended from outside or was already started by another execution. It
 * is not cancelled from here: cancelling a tree reaches each run through its row, and any other end of the parent ends the child's row too.
 */
async function execute(loop: RunLoop, { runId, agentId, organizationId, workspaceId }: Child, input: AgentRunInput): Promise<void> {
  const keywords = { OrganizationId: organizationId, WorkspaceId: workspaceId, AgentId: agentId, RunKind: 'sub_agent' };
  const run = CancellationScope.nonCancellable(() =>
    executeChild('agentRun', {
      workflowId: workflowIds.run(runId),
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      args: [input],
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      memo: workflowInfo().memo ?? {},
      typedSearchAttributes: Object.entries(keywords).map(([name, value]) => ({ key: { name, type: 'KEYWORD' as const }, value })),
    }),
  );
  const ended = run.catch((error: unknown) => {
    if (!(error instanceof TemporalFailure)) throw error;
  });

  loop.hasWaited = true;
  await withGrace(ended, () => (loop.isCancelled() ? childGraceMs : 0));
  loop.waitsEnded++;
}

/** Waits until the child's row has ended too: the reconciler ends a child whose workflow was lost. */
async function settleChild(loop: RunLoop, input: RunToolInput): Promise<CallOutcome> {
  for (let polls = 0; ; polls++) {
    const seen = loop.wakes;
    const { again, gated } = await settleTool({ ...input, cause: 'child' });

    if (gated) return 'gated';
    if (!again) return 'over';
    await untilWoken(loop, { seen, nextMs: Math.min(1000 * 2 ** polls, maxPauseMs) });
  }
}
