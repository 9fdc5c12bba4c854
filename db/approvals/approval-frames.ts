import { iso } from '../sql.ts';
import type { FrameDraft } from '../streams/frame.schema.ts';
import type { ApprovalRow } from './approval-view.ts';

/** Returns the frame of a question. It contains everything needed to decide. */
export function requestedFrame(approval: ApprovalRow): FrameDraft {
  return {
    type: 'approval.requested',
    data: {
      approval_id: approval.id,
      tool_call_id: approval.tool_call_id,
      reason: approval.reason,
      prompt: approval.prompt,
      args: approval.args,
      args_hash: approval.args_hash,
      response_schema: approval.response_schema,
      decisions: [...approval.decisions],
      approver_floor: approval.approver_floor,
      expires_at: iso(approval.expires_at),
      on_expiry: approval.on_expiry,
    },
  };
}

/** Returns the frame of a question's answer, expiry or withdrawal. */
export function resolvedFrame(approval: ApprovalRow): FrameDraft {
  if (approval.status === 'pending' || approval.resolved_at === null) throw new Error('a pending question has no answer');
  return {
    type: 'approval.resolved',
    data: {
      approval_id: approval.id,
      decision: approval.status,
      edited_args: approval.edited_args,
      response: approval.response,
      comment: approval.comment,
      resolved_by: approval.resolved_by_kind === null ? null : { kind: approval.resolved_by_kind, id: approval.resolved_by_id },
      resolved_at: iso(approval.resolved_at),
    },
  };
}
