import type { ApprovalDecision, ApprovalReason, ApprovalStatus } from '../../workflows/contracts/runs/approvals.ts';
import { iso } from '../sql.ts';

type Time = Date | string;

/** A question as it is read. */
export interface ApprovalRow {
  readonly id: string;
  readonly run_id: string;
  readonly root_run_id: string;
  readonly agent_id: string;
  readonly tool_call_id: string | null;
  readonly tool_slug: string | null;
  readonly reason: ApprovalReason;
  readonly status: ApprovalStatus;
  readonly prompt: string;
  readonly args: Record<string, unknown> | null;
  readonly args_hash: string | null;
  readonly response_schema: Record<string, unknown> | null;
  readonly decisions: readonly ApprovalDecision[];
  readonly critical: boolean;
  readonly approver_floor: 'member' | 'admin';
  readonly expires_at: Time;
  readonly on_expiry: 'deny' | 'fail';
  readonly edited_args: Record<string, unknown> | null;
  readonly response: unknown;
  readonly comment: string | null;
  readonly resolved_by_kind: 'user' | 'service_key' | 'system' | null;
  readonly resolved_by_id: string | null;
  readonly resolved_at: Time | null;
  readonly created_at: Time;
}

/** Select list of a question, over `approvals a`. */
export const approvalColumns = `a.id, a.run_id, a.root_run_id, a.agent_id, a.tool_call_id, a.tool_slug, a.reason, a.status, a.prompt, a.args, a.args_hash, a.response_schema,
  a.decisions, a.critical, a.approver_floor, a.expires_at, a.on_expiry, a.edited_args, nullif(a.response, 'null'::jsonb) as response, a.comment,
  a.resolved_by_kind, a.resolved_by_id, a.resolved_at, a.created_at`;

/** Returns the wire form of a question. */
export function toApprovalView(row: ApprovalRow) {
  return {
    id: row.id,
    run_id: row.run_id,
    root_run_id: row.root_run_id,
    agent_id: row.agent_id,
    tool_call_id: row.tool_call_id,
    tool_slug: row.tool_slug,
    reason: row.reason,
    status: row.status,
    prompt: row.prompt,
    args: row.args,
    args_hash: row.args_hash,
    response_schema: row.response_schema,
    decisions: [...row.decisions],
    critical: row.critical,
    approver_floor: row.approver_floor,
    expires_at: iso(row.expires_at),
    on_expiry: row.on_expiry,
    edited_args: row.edited_args,
    response: row.response,
    comment: row.comment,
    resolved_by: row.resolved_by_kind === null ? null : { kind: row.resolved_by_kind, id: row.resolved_by_id },
    resolved_at: iso(row.resolved_at),
    created_at: iso(row.created_at),
  };
}
