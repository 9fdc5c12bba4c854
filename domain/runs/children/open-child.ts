import { followedTime } from '../../../db/database-clock.ts';
import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { requireApproval } from '../calls/require-approval.ts';
import { newId } from '../../../db/ids.ts';
import { appendFrames, stateBatch } from '../../../db/streams/append.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { isOpen, lockCall, type CallState } from '../../../db/runs/calls/call-state.ts';
import { endChildCall } from './child-end.ts';
import { injectHistory, inputOfCall } from './child-input.ts';
import { limitsForChild, refusalOfChild } from './child-limits.ts';
import type { PinnedDelegate } from '../../../db/agents/effective/delegate-target.ts';
import { readRestartPoint, type RestartPoint } from '../../../db/runs/start/restart-run.ts';
import { resultWithoutOutput } from '../../../db/runs/run-frames.ts';
import { identityOf, lockRunWithAncestors, pathOf, type RunState } from '../../../db/runs/run-state.ts';
import type { StepError } from '../../../db/runs/run-types.ts';
import { startRun } from '../start/start-run.ts';
import { subAgentFrame } from '../../../db/runs/children/sub-agent-frame.ts';
import { countDescendants, readChild, writeChildClaim, openChildStep, readCause } from '../../../db/runs/children/child-rows.ts';
import type { StartCause, StartRun } from '../../../db/runs/start/start-run.ts';
import { endCall, executingFrame } from '../calls/tool-calls.ts';
import { settleStatus } from '../waiting.ts';

export interface OpenChild {
  readonly runId: string;
  readonly toolCallId: string;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
  /** Judges the call by the current row of its tool: the fault that refuses it, or the approval that it needs first. */
  readonly judge: (call: CallState) => { readonly refusal: StepError | null; readonly gate: CallApproval | null };
}

/** A child whose workflow is to be started. */
export interface StartableChild {
  readonly runId: string;
  readonly agentId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** `over`: the call or its run has ended. `gated`: the call awaits approval. */
export type OpenedChild =
  | { readonly kind: 'over' | 'cancelling' | 'frozen' | 'gated' }
  /** `from`: the point at which a child that was opened before resumes from its rows, should its workflow have been lost. */
  | { readonly kind: 'child'; readonly child: StartableChild; readonly from?: RestartPoint };

/**
 * Creates the run of a delegate call, once, within what is left to its ancestors, or ends the call when no child is allowed. Writes no start message: the
 * parent's workflow starts the child. Throws the failures of `startRun`; nothing is written then.
 */
export async function openChild(tx: TenantTransaction, ask: OpenChild): Promise<OpenedChild> {
  const locked = await lockRunWithAncestors(tx, ask.runId);
  if (!locked || isTerminal(locked.run.status)) return { kind: 'over' };
  const { run, ancestors } = locked;
  if (run.status === 'cancelling') return { kind: 'cancelling' };
  const call = await lockCall(tx, ask.runId, ask.toolCallId);
  if (!call || !isOpen(call)) return { kind: 'over' };
  if (call.childRunId !== null) return openedBefore(tx, { run, ancestors, call }, call.childRunId);
  if (run.is_frozen) return { kind: 'frozen' };
  if (call.state === 'recorded' || call.state === 'gated') return { kind: 'gated' };

  const { refusal, gate } = ask.judge(call);
  if (refusal === null && gate !== null && (await requireApproval(tx, call, gate))) return { kind: 'gated' };
  const below = await countDescendants(tx, run.root_run_id);
  const handed = await inputOfCall(tx, call);
  const delegate = run.manifest?.tools.find((tool) => tool.slug === call.slug)?.delegate;
  const now = followedTime(tx.em);
  const fault = refusal ?? refusalOfChild([...ancestors, run], below, now) ?? ('fault' in handed ? handed.fault : null);
  if (fault !== null || !delegate || 'fault' in handed) {
    await refuse(tx, { run, ancestors, call }, fault ?? unavailable);
    return { kind: 'over' };
  }
  const limits = limitsForChild(run, { maxCost: delegate.max_cost, timeoutS: call.timeoutS, descendants: below.get(run.id) ?? 0, now });
  const childRunId = newId();
  // The parent's stream names the child before the child's first frame.
  await claimForChild(tx, { run, call, delegate, childRunId, seconds: limits.max_duration_s });
  await startRun(tx, {
    id: childRunId,
    workspaceId: run.workspace_id,
    defaultWorkspaceId: null,
    agent: { id: delegate.agent_id },
    revisionId: delegate.revision_id,
    personaSlug: delegate.persona_slug,
    input: handed.input,
    sessionKey: null,
    subject: run.subject_kind === null || run.subject_id === null ? null : { kind: run.subject_kind, id: run.subject_id },
    source: 'sub_agent',
    evaluationRunId: run.evaluation_run_id,
    createdBy: creatorOf(run),
    onBusy: 'enqueue',
    limits,
    metadata: {},
    currency: ask.currency,
    parent: {
      runId: run.id,
      rootRunId: run.root_run_id,
      toolCallId: call.id,
      lineage: [...run.lineage, run.id],
      path: [...pathOf(run), delegate.agent_slug],
      depth: run.depth + 1,
    },
    cause: await causeOf(tx, run),
  });
  if (delegate.history === 'summary') await injectHistory(tx, run, childRunId);
  return {
    kind: 'child',
    child: { runId: childRunId, agentId: delegate.agent_id, organizationId: run.organization_id, workspaceId: run.workspace_id },
  };
}

/** Ends a delegate call that can't be made, with a result for the model, which may do without it. */
export async function refuseChild(
  tx: TenantTransaction,
  { runId, toolCallId }: Pick<OpenChild, 'runId' | 'toolCallId'>,
  fault: StepError,
): Promise<void> {
  const locked = await lockRunWithAncestors(tx, runId);
  const call = locked && (await lockCall(tx, runId, toolCallId));
  if (locked && call && isOpen(call) && call.childRunId === null) await refuse(tx, { ...locked, call }, fault);
}

interface HeldCall {
  readonly run: RunState;
  readonly ancestors: readonly RunState[];
  readonly call: CallState;
}

const unavailable: StepError = {
  code: 'tool_unavailable',
  message: 'The agent can not be asked any more.',
  retryable: false,
  reason: null,
};

async function refuse(tx: TenantTransaction, { call, ...runs }: HeldCall, fault: StepError): Promise<void> {
  const frame = await endCall(tx, call, null, { state: 'failed', result: resultWithoutOutput('failed', fault), rest: null });
  await settleStatus(tx, runs, frame === null ? {} : { lead: [stateBatch(identityOf(runs.run), [frame])] });
}

/** Answers a repeated request whose first answer was lost: the child as it was created, or `over` when it has ended meanwhile. */
async function openedBefore(tx: TenantTransaction, { call, ...runs }: HeldCall, childRunId: string): Promise<OpenedChild> {
  const child = await readChild(tx, childRunId);
  if (child !== null && !isTerminal(child.status))
    return {
      kind: 'child',
      child: { runId: child.id, agentId: child.agentId, organizationId: child.organizationId, workspaceId: child.workspaceId },
      from: await readRestartPoint(tx.em, child.id),
    };
  if (child !== null) await settleStatus(tx, runs, { lead: [stateBatch(identityOf(runs.run), await endChildCall(tx, call, child))] });
  return { kind: 'over' };
}

interface ClaimForChild {
  readonly run: RunState;
  readonly call: CallState;
  readonly delegate: PinnedDelegate;
  readonly childRunId: string;
  /** The child's time limit. */
  readonly seconds: number;
}

/** Hands the call to the child: row, step and frames say so from here on. */
async function claimForChild(tx: TenantTransaction, { run, call, delegate, childRunId, seconds }: ClaimForChild): Promise<void> {
  const attempt = call.attempt + 1;
  const deadlineAt = await writeChildClaim(tx, call.id, { attempt, childRunId, seconds });
  await openChildStep(tx, call, { attempt, childRunId });
  const child = {
    id: childRunId,
    agentId: delegate.agent_id,
    agentRevisionId: delegate.revision_id,
    parentToolCallId: call.id,
    status: 'queued',
  } as const;
  const deadline = new Date(deadlineAt ?? followedTime(tx.em)).toISOString();
  await appendFrames(tx, [stateBatch(identityOf(run), [executingFrame(call, deadline), subAgentFrame(child, 'started')])]);
}

/** The child has the same cause as its parent. */
async function causeOf(tx: TenantTransaction, run: RunState): Promise<StartCause> {
  const found = await readCause(tx, run.id);
  return {
    rootEventId: found?.rootEventId ?? null,
    eventDepth: found?.eventDepth ?? 0,
    untrusted: run.untrusted,
    maxEffect: run.max_effect,
    hops: found?.hops ?? 0,
  };
}

function creatorOf(run: RunState): StartRun['createdBy'] {
  return { kind: run.created_by_kind, id: run.created_by_id, actingUserId: run.created_by_acting_user_id };
}
