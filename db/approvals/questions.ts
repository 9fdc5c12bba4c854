import type { ApprovalDecision, ApprovalReason } from '../../workflows/contracts/runs/approvals.ts';
import { sql } from 'kysely';
import { clockTime } from '../expressions.ts';
import { newId } from '../ids.ts';
import { insertFrom } from '../insert-from.ts';
import { jsonText, nullIfJsonNull, recordset, type JsonText } from '../json-text.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { argsHashOf } from '../runs/calls/args-hash.ts';
import type { CallState } from '../runs/calls/call-state.ts';
import type { RunState } from '../runs/run-state.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { approvalColumns, changedColumns, responseColumn, type ApprovalRow } from './approval-view.ts';

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

function listedQuestion({ call, reason, prompt, args, responseSchema, decisions, critical, floor, until }: Question) {
  return {
    id: newId(),
    call: call?.id ?? null,
    slug: call?.slug ?? null,
    reason,
    prompt,
    args,
    hash: args === null ? null : argsHashOf(args),
    schema: responseSchema,
    decisions: [...decisions],
    critical,
    floor,
    until: until?.toISOString() ?? null,
  };
}

interface NewQuestions {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly runId: string;
  readonly rootRunId: string;
  readonly agentId: string;
  readonly questions: JsonText<readonly ReturnType<typeof listedQuestion>[]>;
  readonly ttlSeconds: number;
  readonly deadline: string | null;
  readonly onExpiry: RunState['limits']['on_expiry'];
  readonly status: 'pending' | 'rejected';
  readonly comment: string | null;
  readonly resolvedByKind: 'system' | null;
}

const newQuestions = prepared((p: ParametersOf<NewQuestions>) => {
  const questions = recordset(p.questions, 'd', {
    id: 'uuid',
    call: 'uuid',
    slug: 'text',
    reason: 'text',
    prompt: 'text',
    args: 'jsonb',
    hash: 'text',
    schema: 'jsonb',
    decisions: 'text[]',
    critical: 'boolean',
    floor: 'text',
    until: 'timestamptz',
  });
  const inserted = insertFrom('approvals', query.selectFrom(questions), ({ ref }) => ({
    id: ref('d.id'),
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    runId: p.runId,
    rootRunId: p.rootRunId,
    agentId: p.agentId,
    toolCallId: ref('d.call'),
    round: sql<number>`coalesce((select max(o.round) from approvals o where o.tool_call_id = ${ref('d.call')}), 0) + 1`,
    toolSlug: ref('d.slug'),
    reason: ref('d.reason'),
    status: p.status,
    prompt: ref('d.prompt'),
    args: nullIfJsonNull(ref('d.args')),
    argsHash: ref('d.hash'),
    responseSchema: nullIfJsonNull(ref('d.schema')),
    decisions: ref('d.decisions'),
    critical: ref('d.critical'),
    approverFloor: ref('d.floor'),
    expiresAt: sql<string>`least(clock_timestamp() + make_interval(secs => ${p.ttlSeconds}::int), ${p.deadline}::timestamptz, ${ref('d.until')})`,
    onExpiry: p.onExpiry,
    comment: p.comment,
    resolvedByKind: p.resolvedByKind,
    resolvedAt: sql<string | null>`case when ${p.resolvedByKind}::text is not null then clock_timestamp() end`,
    createdAt: clockTime,
  }));
  return query
    .with('a', () => inserted.returning(changedColumns))
    .selectFrom('a')
    .select(approvalColumns)
    .select(responseColumn)
    .orderBy('a.id');
});

/** Asks a run's questions, open until its limit for answers or its hard deadline, whichever comes first. Returns them in order. */
export async function insertQuestions(
  tx: TenantTransaction,
  run: RunState,
  questions: readonly Question[],
  rejected: InstantAnswer | null = null,
): Promise<ApprovalRow[]> {
  if (questions.length === 0) return [];
  return rows(
    tx.em,
    newQuestions({
      organizationId: run.organization_id,
      workspaceId: run.workspace_id,
      runId: run.id,
      rootRunId: run.root_run_id,
      agentId: run.agent_id,
      questions: jsonText(questions.map(listedQuestion)),
      ttlSeconds: run.limits.approval_ttl_s,
      deadline: run.hard_deadline_at,
      onExpiry: run.limits.on_expiry,
      status: rejected === null ? 'pending' : 'rejected',
      comment: rejected?.comment ?? null,
      resolvedByKind: rejected === null ? null : 'system',
    }),
  );
}
