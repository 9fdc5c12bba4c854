import { iso } from '../../sql.ts';
import type { AttachmentPart } from '../../streams/frame-parts.schema.ts';
import { toPendingCallView } from '../calls/shown-calls.ts';
import type { readRunRow } from './run-queries.ts';

/** The input of a run as it was sent. */
export interface RunInput {
  readonly text?: string;
  readonly json?: Record<string, unknown>;
  readonly attachments?: readonly AttachmentPart[];
}

export type OnBusy = 'enqueue' | 'reject' | 'interrupt' | 'rollback' | 'steer';
export type CancelPolicy = 'interrupt' | 'rollback';

/** A run as it is read: the columns of `runs`, the head of its stream and its queue position. */
export type RunRow = NonNullable<Awaited<ReturnType<typeof readRunRow>>>;

/** Returns the wire form of a run. */
export function toRunView(row: RunRow) {
  return {
    id: row.id,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    agent_id: row.agentId,
    agent_revision_id: row.agentRevisionId,
    root_run_id: row.rootRunId,
    parent_run_id: row.parentRunId,
    parent_tool_call_id: row.parentToolCallId,
    retry_of_run_id: row.retryOfRunId,
    forked_at_message_id: row.forkedAtMessageId,
    trigger_id: row.triggerId,
    evaluation_run_id: row.evaluationRunId,
    binding_id: row.bindingId,
    agent_slug: row.agentSlug,
    persona_slug: row.personaSlug,
    session_key: row.sessionKey,
    source: row.source,
    subject: row.subjectKind !== null && row.subjectId !== null ? { kind: row.subjectKind, id: row.subjectId } : null,
    created_by: { kind: row.createdByKind, id: row.createdById, acting_user_id: row.createdByActingUserId },
    status: row.status,
    waiting_on: row.waitingOn,
    waiting_until: iso(row.waitingUntil),
    finish_reason: row.finishReason,
    queue_position: row.queuePosition,
    input: toInputView(row),
    output: row.hasOutput
      ? {
          text: row.outputText,
          json: row.outputJson,
          attachments: row.outputAttachments.map(toAttachmentView),
          truncated: row.outputCut,
        }
      : null,
    error: row.error,
    warnings: row.warnings,
    limits: row.limits,
    usage: { own: row.usageOwn, subtree: row.usageSubtree },
    steps: row.steps,
    depth: row.depth,
    last_seq: row.lastSeq,
    pending_approvals: row.pendingApprovals,
    pending_tool_calls: row.pendingToolCalls?.map(toPendingCallView) ?? null,
    on_busy: row.onBusy,
    cancel_policy: row.cancelPolicy,
    metadata: row.metadata,
    start_after: iso(row.startAfter),
    started_at: iso(row.startedAt),
    finished_at: iso(row.finishedAt),
    cancel_requested_at: iso(row.cancelRequestedAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

function toInputView(row: RunRow) {
  return {
    ...(row.inputText !== null ? { text: row.inputText } : {}),
    ...(row.inputJson !== null ? { json: row.inputJson } : {}),
    attachments: row.inputAttachments.map(toAttachmentView),
    truncated: row.inputCut,
  };
}

function toAttachmentView(part: AttachmentPart) {
  return { attachment_id: part.attachment_id, media_type: part.media_type, name: part.name, bytes: part.bytes };
}
