import { type InferResult, sql } from 'kysely';
import { query } from '../query.ts';
import { iso } from '../sql.ts';

/** A question as it is read. */
export type ApprovalRow = InferResult<ReturnType<typeof selectApprovals>>[number];

/** The columns of a question, for a statement that changes some. */
export const changedColumns = [
  'id',
  'runId',
  'rootRunId',
  'agentId',
  'toolCallId',
  'toolSlug',
  'reason',
  'status',
  'prompt',
  'args',
  'argsHash',
  'responseSchema',
  'decisions',
  'critical',
  'approverFloor',
  'expiresAt',
  'onExpiry',
  'editedArgs',
  'response',
  'comment',
  'resolvedByKind',
  'resolvedById',
  'resolvedAt',
  'createdAt',
] as const;

/** What is read of a question, from `a`: `approvals`, or the questions that the statement has changed. */
export const approvalColumns = changedColumns.filter((column) => column !== 'response').map((column) => `a.${column}` as const);

/** Its response, likewise. A response may be JSON's null. */
export const responseColumn = sql<unknown>`nullif(a.response, 'null'::jsonb)`.as('response');

/** Reads questions. */
export function selectApprovals() {
  return query.selectFrom('approvals as a').select(approvalColumns).select(responseColumn);
}

/** Returns the wire form of a question. */
export function toApprovalView(row: ApprovalRow) {
  return {
    id: row.id,
    run_id: row.runId,
    root_run_id: row.rootRunId,
    agent_id: row.agentId,
    tool_call_id: row.toolCallId,
    tool_slug: row.toolSlug,
    reason: row.reason,
    status: row.status,
    prompt: row.prompt,
    args: row.args,
    args_hash: row.argsHash,
    response_schema: row.responseSchema,
    decisions: [...row.decisions],
    critical: row.critical,
    approver_floor: row.approverFloor,
    expires_at: iso(row.expiresAt),
    on_expiry: row.onExpiry,
    edited_args: row.editedArgs,
    response: row.response,
    comment: row.comment,
    resolved_by: row.resolvedByKind === null ? null : { kind: row.resolvedByKind, id: row.resolvedById },
    resolved_at: iso(row.resolvedAt),
    created_at: iso(row.createdAt),
  };
}
