import type { ApprovalDecision, ApprovalReason } from '../../workflows/contracts/runs/approvals.ts';
import { newId } from '../ids.ts';
import { argsHashOf } from '../runs/calls/args-hash.ts';
import type { CallState } from '../runs/calls/call-state.ts';
import type { RunState } from '../runs/run-state.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { approvalColumns, type ApprovalRow } from './approval-view.ts';

/** A question to people. */
export interface Question {
  /** The call that asks; null: the run itself. */
  readonly call: Pick<CallState, 'id' | 'slug'> | null;
  readonly reason: ApprovalReason;
  readonly prompt: string;
  readonly args: Readonly<Record<string, unknown>> | null;
  readonly responseSchema: Readonly<Record<string, unknown>> | null;
  readonly decisions: readonly ApprovalDecision[];
  readonly critical: boolean;
  readonly floor: 'member' | 'admin';
  /** The last time at which it can be answered; absent: the run's own limit applies. */
  readonly until?: Date;
}

/** The answer of questions that are answered at once. */
export interface InstantAnswer {
  readonly comment: string;
}

/** Asks a run's questions, open until its limit for answers or its hard deadline, whichever comes first. Returns them in order. */
export async function insertQuestions(
  tx: TenantTransaction,
  run: RunState,
  questions: readonly Question[],
  rejected: InstantAnswer | null = null,
): Promise<ApprovalRow[]> {
  if (questions.length === 0) return [];
  const drafts = questions.map((question) => ({
    id: newId(),
    call: question.call?.id ?? null,
    slug: question.call?.slug ?? null,
    reason: question.reason,
    prompt: question.prompt,
    args: question.args,
    hash: question.args === null ? null : argsHashOf(question.args),
    schema: question.responseSchema,
    decisions: question.decisions,
    critical: question.critical,
    floor: question.floor,
    until: question.until?.toISOString() ?? null,
  }));
  return rows<ApprovalRow>(
    tx.em,
    `with a as (
       insert into approvals (id, organization_id, workspace_id, run_id, root_run_id, agent_id, tool_call_id, round, tool_slug, reason, status, prompt, args, args_hash,
         response_schema, decisions, critical, approver_floor, expires_at, on_expiry, comment, resolved_by_kind, resolved_at, created_at)
       select d.id, ?, ?, ?, ?, ?, d.call, coalesce((select max(o.round) from approvals o where o.tool_call_id = d.call), 0) + 1, d.slug, d.reason, ?, d.prompt,
              nullif(d.args, 'null'::jsonb), d.hash, nullif(d.schema, 'null'::jsonb), d.decisions, d.critical, d.floor,
              least(clock_timestamp() + make_interval(secs => ?::int), ?::timestamptz, d.until), ?, ?, ?, case when ?::text is not null then clock_timestamp() end, clock_timestamp()
         from jsonb_to_recordset(?::jsonb) as d(id uuid, call uuid, slug text, reason text, prompt text, args jsonb, hash text, schema jsonb, decisions text[], critical boolean, floor text, until timestamptz)
       returning *
     ) select ${approvalColumns} from a order by a.id`,
    [
      run.organization_id,
      run.workspace_id,
      run.id,
      run.root_run_id,
      run.agent_id,
      rejected === null ? 'pending' : 'rejected',
      run.limits.approval_ttl_s,
      run.hard_deadline_at,
      run.limits.on_expiry,
      rejected?.comment ?? null,
      rejected === null ? null : 'system',
      rejected === null ? null : 'rejected',
      JSON.stringify(drafts),
    ],
  );
}
