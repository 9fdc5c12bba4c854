import type { NewRun } from './insert-run.ts';
import type { RunRow } from '../read/run-view.ts';

/** Values common to every run that has just been created. */
const untouched = {
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
  last_seq: 1,
  pending_approvals: 0,
  pending_tool_calls: [],
  cancel_policy: null,
  started_at: null,
  finished_at: null,
  cancel_requested_at: null,
} satisfies Partial<RunRow>;

/** Returns a new run's row as a query would read it, without a query. */
export function rowOfNew(run: NewRun): RunRow {
  const { target, start, line } = run;
  return {
    ...untouched,
    id: run.id,
    organization_id: target.organizationId,
    workspace_id: target.workspaceId,
    agent_id: target.agentId,
    agent_revision_id: target.revisionId,
    root_run_id: start.parent?.rootRunId ?? run.id,
    parent_run_id: start.parent?.runId ?? null,
    parent_tool_call_id: start.parent?.toolCallId ?? null,
    retry_of_run_id: start.continued?.retryOfRunId ?? null,
    forked_at_message_id: start.continued?.forkedAtMessageId ?? null,
    trigger_id: start.triggerId ?? null,
    evaluation_run_id: start.evaluationRunId ?? null,
    binding_id: start.review?.bindingId ?? null,
    depth: start.parent?.depth ?? 0,
    agent_slug: target.agentSlug,
    persona_slug: run.personaSlug,
    session_key: start.sessionKey,
    source: start.source,
    subject_kind: start.subject?.kind ?? null,
    subject_id: start.subject?.id ?? null,
    created_by_kind: start.createdBy.kind,
    created_by_id: start.createdBy.id,
    created_by_acting_user_id: start.createdBy.actingUserId,
    queue_position: line.kind === 'line' ? line.position : null,
    input_text: start.input.text ?? null,
    input_json: start.input.json ?? null,
    input_attachments: start.input.attachments ?? [],
    limits: run.limits,
    usage_own: run.usage,
    usage_subtree: run.usage,
    on_busy: start.onBusy,
    metadata: start.metadata,
    start_after: start.startAfter ?? null,
    created_at: run.at,
    updated_at: run.at,
  };
}
