import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { FinishedRun } from '../../../db/runs/run-frames.ts';
import type { RunState } from '../../../db/runs/run-state.ts';

/** Records the end of a run, which the same transaction writes, for metrics and traces. */
export function measureEnd(
  { outgoing }: TenantTransaction,
  run: RunState,
  { status, finishReason, error, finishedAt, usage }: Pick<FinishedRun, 'status' | 'finishReason' | 'error' | 'finishedAt' | 'usage'>,
): void {
  outgoing.measurements.push({ kind: 'run_ended', status, source: run.source, activeS: activeSeconds(run, finishedAt) });
  outgoing.endedRuns.push({
    runId: run.id,
    organizationId: run.organization_id,
    workspaceId: run.workspace_id,
    agentSlug: run.agent_slug,
    agentId: run.agent_id,
    revisionId: run.agent_revision_id,
    conversationId: run.conversation_id,
    source: run.source,
    finishReason,
    errorCode: error?.code ?? null,
    tokens: usage.own.tokens,
    startedAt: new Date(run.started_at ?? run.activated_at ?? finishedAt),
    finishedAt,
    trace: run.trace,
  });
}

/** Records how long the first frame of the model's answer took after the run became active. A run that was never active has none. */
export function measureFirstFrame({ outgoing }: TenantTransaction, { source, activated_at }: RunState, at: Date): void {
  if (activated_at === null) return;
  outgoing.measurements.push({ kind: 'first_frame', source, afterS: secondsBetween(activated_at, at) });
}

function activeSeconds({ started_at, waiting_since, waited_ms }: RunState, end: Date): number | null {
  if (started_at === null) return null;
  const waitingS = waiting_since === null ? 0 : secondsBetween(waiting_since, end);
  return Math.max(0, secondsBetween(started_at, end) - waited_ms / 1_000 - waitingS);
}

/** Seconds between two instants, never below zero, since the clocks of two machines may differ. */
function secondsBetween(start: string, end: Date): number {
  return Math.max(0, (end.getTime() - new Date(start).getTime()) / 1_000);
}
