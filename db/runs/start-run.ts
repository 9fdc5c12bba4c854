import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { RunSource } from '../../workflows/contracts/runs.ts';
import { linkToRun, type AttachmentRef } from '../attachments/run-attachments.ts';
import { newId } from '../ids.ts';
import { appendFrames, stateBatch } from '../streams/append.ts';
import type { Unit } from '../unit.ts';
import { addRunStart, limitQueue } from './conversations.ts';
import { insertRun, lockSession, type NewRun } from './insert-run.ts';
import { limitsOfRun, type RunLimitsDraft } from './run-limits.ts';
import type { RunInput, RunRow } from './run-view.ts';
import { agentInactive, limitLiveRuns, resolveStart, type StartTarget } from './start-target.ts';
import { statusFrame } from './status-frame.ts';
import { noUsage } from './usage-totals.ts';

/** A run to be started, whatever the source; ids are checked here. */
export interface StartRun {
  /** Asked for; null: the agent's own, else the default, else the organization's only one. */
  readonly workspaceId: string | null;
  readonly defaultWorkspaceId: string | null;
  readonly agent: { readonly id: string } | { readonly slug: string };
  /** Any revision of the agent; null: the active one. */
  readonly revisionId: string | null;
  /** An active persona of the agent; null: the conversation's, else the agent's default, else none. */
  readonly personaSlug: string | null;
  readonly input: RunInput;
  /** Gives the files that the input names, once the workspace is known; throws what forbids them. */
  readonly attachments?: (workspaceId: string) => Promise<readonly AttachmentRef[]>;
  /** Null: a conversation of its own. */
  readonly sessionKey: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
  readonly source: RunSource;
  /** The endpoint, schedule, event trigger or channel that starts it. */
  readonly triggerId?: string | null;
  readonly createdBy: {
    readonly kind: 'user' | 'service_key' | 'system';
    readonly id: string | null;
    readonly actingUserId: string | null;
  };
  readonly onBusy: 'enqueue' | 'reject';
  readonly limits: RunLimitsDraft;
  readonly metadata: Record<string, unknown>;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
  /** Throws what forbids the starter this place; called once the workspace is known, before anything is written. */
  readonly admit?: (place: { readonly organizationId: string; readonly workspaceId: string }) => Promise<void>;
}

export interface StartedRun {
  readonly run: RunRow;
  readonly admission: 'started' | 'queued';
}

/**
 * The one way in for every source. Locks the conversation, writes run, user message and first frame, and the start of the workflow unless the
 * run has to wait in line. Throws 422 for what does not resolve, 423 for a frozen workspace, 409 `agent_inactive`, `conversation_busy`,
 * `conversation_queue_full`, 429 `live_runs`.
 */
export async function startRun(unit: Unit, start: StartRun): Promise<StartedRun> {
  const target = await resolveStart(unit, start);
  const attachments = (await start.attachments?.(target.workspaceId)) ?? [];
  refuseUnready(target, start);

  const session =
    start.sessionKey === null
      ? null
      : await lockSession(unit, { ...target, subject: start.subject, sessionKey: start.sessionKey, personaSlug: start.personaSlug });
  const isFree = session === null || session.active_run_id === null;
  if (session && session.active_run_id !== null) refuseBusy(session.active_run_id, session.queue_length, start.onBusy);

  const run: NewRun = {
    id: newId(),
    messageId: newId(),
    conversation: session ?? { id: newId(), active_run_id: null, queue_length: 0, next_queue_no: 1, turn_no: 0, persona_slug: null },
    isNewConversation: session === null,
    isFree,
    target,
    start: attachments.length === 0 ? start : { ...start, input: { ...start.input, attachments } },
    personaSlug: start.personaSlug ?? session?.persona_slug ?? target.defaultPersonaSlug,
    limits: limitsOfRun(start.limits, target.limits),
    usage: noUsage(start.currency),
    at: new Date(),
  };
  await insertRun(unit, run);
  await attach(unit, run, attachments);
  await announce(unit, run);
  return { run: rowOf(run), admission: isFree ? 'started' : 'queued' };
}

function attach(unit: Unit, { id, target, conversation }: NewRun, attachments: readonly AttachmentRef[]): Promise<void> {
  const place = { id, organizationId: target.organizationId, workspaceId: target.workspaceId, conversationId: conversation.id };
  return linkToRun(
    unit,
    place,
    attachments.map((ref) => ref.attachment_id),
  );
}

function refuseUnready(target: StartTarget, start: StartRun): void {
  if (target.frozenReason !== null)
    throw fail('resource_frozen', { reason: target.frozenReason, detail: 'The workspace is archived or its organization is not active.' });
  if (!target.isAgentActive) throw agentInactive();
  if (target.liveRuns >= limitLiveRuns) {
    throw fail('rate_limited', { reason: 'live_runs', detail: 'The workspace has too many live runs.', retryAfterS: 10 });
  }
  for (const variable of target.variables) {
    const isGiven = start.input.json !== undefined && Object.hasOwn(start.input.json, variable.name);
    if (variable.required && variable.default === null && !isGiven) {
      throw invalid(`/input/json/${variable.name}`, 'required', 'The agent demands a value for this variable.');
    }
  }
}

function refuseBusy(activeRunId: string, queueLength: number, onBusy: StartRun['onBusy']): void {
  if (onBusy === 'reject') {
    throw fail('state_conflict', {
      reason: 'conversation_busy',
      detail: 'The conversation has an active run.',
      context: { active_run_id: activeRunId },
    });
  }
  if (queueLength >= limitQueue) {
    throw fail('state_conflict', {
      reason: 'conversation_queue_full',
      detail: 'The line of the conversation is full.',
      context: { active_run_id: activeRunId },
    });
  }
}

async function announce(unit: Unit, run: NewRun): Promise<void> {
  const { target, start } = run;
  const identity = {
    runId: run.id,
    rootRunId: run.id,
    parentRunId: null,
    organizationId: target.organizationId,
    workspaceId: target.workspaceId,
    path: [target.agentSlug],
  };
  await appendFrames(unit, [stateBatch(identity, [statusFrame({ status: 'queued', previous: null, queuePosition: queuePosition(run) })])]);
  if (!run.isFree) return;
  await addRunStart(unit, {
    id: run.id,
    organizationId: target.organizationId,
    workspaceId: target.workspaceId,
    agentId: target.agentId,
    source: start.source,
  });
}

function queuePosition(run: NewRun): number | null {
  return run.isFree ? null : run.conversation.queue_length + 1;
}

/** What is alike in every run that has just been made. */
const untouched = {
  parent_run_id: null,
  parent_tool_call_id: null,
  retry_of_run_id: null,
  forked_at_message_id: null,
  trigger_id: null,
  evaluation_run_id: null,
  binding_id: null,
  status: 'queued',
  waiting_on: null,
  waiting_until: null,
  finish_reason: null,
  input_cut: false,
  output_attachments: [],
  has_output: false,
  output_text: null,
  output_json: null,
  output_cut: false,
  error: null,
  warnings: [],
  steps: 0,
  depth: 0,
  last_seq: 1,
  pending_approvals: 0,
  cancel_policy: null,
  start_after: null,
  started_at: null,
  finished_at: null,
  cancel_requested_at: null,
} satisfies Partial<RunRow>;

/** The row as a query would read it, without asking again. */
function rowOf(run: NewRun): RunRow {
  const { target, start } = run;
  return {
    ...untouched,
    id: run.id,
    organization_id: target.organizationId,
    workspace_id: target.workspaceId,
    agent_id: target.agentId,
    agent_revision_id: target.revisionId,
    root_run_id: run.id,
    agent_slug: target.agentSlug,
    persona_slug: run.personaSlug,
    session_key: start.sessionKey,
    source: start.source,
    subject_kind: start.subject?.kind ?? null,
    subject_id: start.subject?.id ?? null,
    created_by_kind: start.createdBy.kind,
    created_by_id: start.createdBy.id,
    created_by_acting_user_id: start.createdBy.actingUserId,
    queue_position: queuePosition(run),
    input_text: start.input.text ?? null,
    input_json: start.input.json ?? null,
    input_attachments: start.input.attachments ?? [],
    limits: run.limits,
    usage_own: run.usage,
    usage_subtree: run.usage,
    on_busy: start.onBusy,
    metadata: start.metadata,
    created_at: run.at,
    updated_at: run.at,
  };
}
