import { iso } from '../sql.ts';
import type { FrameDraft } from '../streams/frame.schema.ts';
import type { ApprovalRow } from './approval-view.ts';

/** Returns the frame of a question. It contains everything needed to decide. */
export function requestedFrame(approval: ApprovalRow): FrameDraft {
  return {
    type: 'approval.requested',
    data: {
      approval_id: approval.id,
      tool_call_id: approval.toolCallId,
      reason: approval.reason,
      prompt: approval.prompt,
      args: approval.args,
      args_hash: approval.argsHash,
      response_schema: approval.responseSchema,
      decisions: [...approval.decisions],
      approver_floor: approval.approverFloor,
      expires_at: iso(approval.expiresAt),
      on_expiry: approval.onExpiry,
    },
  };
}

/** Returns the frame of a question's answer, expiry or withdrawal. */
export function resolvedFrame(approval: ApprovalRow): FrameDraft {
  if (approval.status === 'pending' || approval.resolvedAt === null) throw new Error('a pending question has no answer');
  return {
    type: 'approval.resolved',
    data: {
      approval_id: approval.id,
      decision: approval.status,
      edited_args: approval.editedArgs,
      response: approval.response,
      comment: approval.comment,
      resolved_by: approval.resolvedByKind === null ? null : { kind: approval.resolvedByKind, id: approval.resolvedById },
      resolved_at: iso(approval.resolvedAt),
    },
  };
}
