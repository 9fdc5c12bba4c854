import type { FinishReason, RunSource, RunStatus, WaitingOn } from '../../../workflows/contracts/runs/runs.ts';
import { iso } from '../../sql.ts';
import type { AttachmentPart } from '../../streams/frame-parts.schema.ts';
import type { RunFault, RunLimits, UsageTotals } from '../run-types.ts';
import { pendingCallsSql, toPendingCallView, type PendingCallRow } from '../calls/shown-calls.ts';

/** The input of a run as it was sent. */
export interface RunInput {
  readonly text?: string;
  readonly json?: Record<string, unknown>;
  readonly attachments?: readonly AttachmentPart[];
}

export interface RunWarning {
  readonly code: string;
  readonly message: string;
}

export type OnBusy = 'enqueue' | 'reject' | 'interrupt' | 'rollback' | 'steer';
export type CancelPolicy = 'interrupt' | 'rollback';
type Time = Date | string;

/** A run as it is read: the columns of `runs`, the head of its stream and its queue position. */
export interface RunRow {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly agent_revision_id: string;
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly parent_tool_call_id: string | null;
  readonly retry_of_run_id: string | null;
  readonly forked_at_message_id: string | null;
  readonly trigger_id: string | null;
  readonly evaluation_run_id: string | null;
  readonly binding_id: string | null;
  readonly agent_slug: string;
  readonly persona_slug: string | null;
  readonly session_key: string | null;
  readonly source: RunSource;
  readonly subject_kind: 'user' | 'guest' | null;
  readonly subject_id: string | null;
  readonly created_by_kind: 'user' | 'service_key' | 'system';
  readonly created_by_id: string | null;
  readonly created_by_acting_user_id: string | null;
  readonly status: RunStatus;
  readonly waiting_on: WaitingOn | null;
  readonly waiting_until: Time | null;
  readonly finish_reason: FinishReason | null;
  readonly queue_position: number | null;
  readonly input_text: string | null;
  readonly input_json: Record<string, unknown> | null;
  readonly input_attachments: readonly AttachmentPart[];
  readonly input_cut: boolean;
  readonly has_output: boolean;
  readonly output_text: string | null;
  readonly output_json: Record<string, unknown> | null;
  readonly output_attachments: readonly AttachmentPart[];
  readonly output_cut: boolean;
  readonly error: RunFault | null;
  readonly warnings: RunWarning[];
  readonly limits: RunLimits;
  readonly usage_own: UsageTotals;
  readonly usage_subtree: UsageTotals;
  readonly steps: number;
  readonly depth: number;
  readonly last_seq: number;
  readonly pending_approvals: number;
  /** Null in lists. */
  readonly pending_tool_calls: readonly PendingCallRow[] | null;
  readonly on_busy: OnBusy;
  readonly cancel_policy: CancelPolicy | null;
  readonly metadata: Record<string, unknown>;
  readonly start_after: Time | null;
  readonly started_at: Time | null;
  readonly finished_at: Time | null;
  readonly cancel_requested_at: Time | null;
  readonly created_at: Time;
  readonly updated_at: Time;
}

/** Files are few and their entries short, so lists include all of them. */
const fileColumns = `coalesce(r.input -> 'attachments', '[]') as input_attachments, coalesce(r.output -> 'attachments', '[]') as output_attachments`;

const plainColumns = `r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_revision_id, r.root_run_id, r.parent_run_id, r.parent_tool_call_id,
  r.retry_of_run_id, r.forked_at_message_id, r.trigger_id, r.evaluation_run_id, r.binding_id, r.agent_slug, r.persona_slug, r.session_key, r.source,
  r.subject_kind, r.subject_id, r.created_by_kind, r.created_by_id, r.created_by_acting_user_id, r.status, r.waiting_on, r.waiting_until, r.finish_reason,
  case when r.status = 'queued' and r.queue_no is not null then (
    select count(*)::int from runs q where q.conversation_id = r.conversation_id and q.status = 'queued' and q.queue_no <= r.queue_no) end as queue_position,
  r.output is not null as has_output, r.error, r.warnings, r.limits, r.usage_own, r.usage_subtree, r.steps, r.depth, coalesce(s.head_seq, 0)::int8 as last_seq,
  r.pending_approvals, r.on_busy, r.cancel_policy, r.metadata, r.start_after, r.started_at, r.finished_at, r.cancel_requested_at, r.created_at, r.updated_at`;

/** Select list of one run, over `runFrom`. */
export const runColumns = `${plainColumns}, ${fileColumns},
  r.input ->> 'text' as input_text, r.input -> 'json' as input_json, false as input_cut,
  r.output ->> 'text' as output_text, nullif(r.output -> 'json', 'null') as output_json, false as output_cut, ${pendingCallsSql} as pending_tool_calls`;

/** Select list of runs in a list: texts are truncated to 500 characters; longer JSON is omitted, and so are calls. */
export const runListColumns = `${plainColumns}, ${fileColumns},
  left(r.input ->> 'text', 500) as input_text,
  case when length((r.input -> 'json')::text) <= 500 then r.input -> 'json' end as input_json,
  coalesce(length(r.input ->> 'text') > 500, false) or coalesce(length((r.input -> 'json')::text) > 500, false) as input_cut,
  left(r.output ->> 'text', 500) as output_text,
  case when length((r.output -> 'json')::text) <= 500 then nullif(r.output -> 'json', 'null') end as output_json,
  coalesce(length(r.output ->> 'text') > 500, false) or coalesce(length((r.output -> 'json')::text) > 500, false) as output_cut,
  null as pending_tool_calls`;

export const runFrom = 'runs r left join run_streams s on s.run_id = r.id';

/** Returns the wire form of a run. */
export function toRunView(row: RunRow) {
  return {
    id: row.id,
    organization_id: row.organization_id,
    workspace_id: row.workspace_id,
    agent_id: row.agent_id,
    agent_revision_id: row.agent_revision_id,
    root_run_id: row.root_run_id,
    parent_run_id: row.parent_run_id,
    parent_tool_call_id: row.parent_tool_call_id,
    retry_of_run_id: row.retry_of_run_id,
    forked_at_message_id: row.forked_at_message_id,
    trigger_id: row.trigger_id,
    evaluation_run_id: row.evaluation_run_id,
    binding_id: row.binding_id,
    agent_slug: row.agent_slug,
    persona_slug: row.persona_slug,
    session_key: row.session_key,
    source: row.source,
    subject: row.subject_kind !== null && row.subject_id !== null ? { kind: row.subject_kind, id: row.subject_id } : null,
    created_by: { kind: row.created_by_kind, id: row.created_by_id, acting_user_id: row.created_by_acting_user_id },
    status: row.status,
    waiting_on: row.waiting_on,
    waiting_until: iso(row.waiting_until),
    finish_reason: row.finish_reason,
    queue_position: row.queue_position,
    input: toInputView(row),
    output: row.has_output
      ? {
          text: row.output_text,
          json: row.output_json,
          attachments: row.output_attachments.map(toAttachmentView),
          truncated: row.output_cut,
        }
      : null,
    error: row.error,
    warnings: row.warnings,
    limits: row.limits,
    usage: { own: row.usage_own, subtree: row.usage_subtree },
    steps: row.steps,
    depth: row.depth,
    last_seq: row.last_seq,
    pending_approvals: row.pending_approvals,
    pending_tool_calls: row.pending_tool_calls?.map(toPendingCallView) ?? null,
    on_busy: row.on_busy,
    cancel_policy: row.cancel_policy,
    metadata: row.metadata,
    start_after: iso(row.start_after),
    started_at: iso(row.started_at),
    finished_at: iso(row.finished_at),
    cancel_requested_at: iso(row.cancel_requested_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

function toInputView(row: RunRow) {
  return {
    ...(row.input_text !== null ? { text: row.input_text } : {}),
    ...(row.input_json !== null ? { json: row.input_json } : {}),
    attachments: row.input_attachments.map(toAttachmentView),
    truncated: row.input_cut,
  };
}

function toAttachmentView(part: AttachmentPart) {
  return { attachment_id: part.attachment_id, media_type: part.media_type, name: part.name, bytes: part.bytes };
}
