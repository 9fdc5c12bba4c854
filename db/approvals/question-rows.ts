import { type Expression, sql } from 'kysely';
import type { ApprovalDecision, ApprovalReason, ApprovalStatus } from '../../workflows/contracts/runs/approvals.ts';
import type { Condition } from '../condition.ts';
import { anyId, clockTime } from '../expressions.ts';
import { jsonb, jsonText, type JsonText } from '../json-text.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { tenantPredicate } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { approvalColumns, changedColumns, responseColumn, selectApprovals, type ApprovalRow } from './approval-view.ts';
import type { Manifest } from '../runs/start/manifest.ts';
import type { RunState } from '../runs/run-state.ts';

/** A question with data of its run, for the check of an answer. */
export type AskedRow = Awaited<ReturnType<typeof readQuestions>>[number];

/** A locked question; `isLate`: it is overdue, whether or not that has been recorded. */
export type LockedQuestion = Awaited<ReturnType<typeof lockedAmong>>[number];

/** Whether the question `a` belongs to a run or its descendants; `d` is the asking run. */
function isBelow(runId: Expression<string>) {
  return sql<boolean>`(a.run_id = ${runId}::uuid or d.lineage @> array[${runId}::uuid])`;
}

interface Asked {
  readonly runId: string;
  readonly own: Condition;
}

const askedBelow = prepared(({ runId, own, ids }: ParametersOf<Asked & { readonly ids: readonly string[] }>) =>
  selectApprovals()
    .innerJoin('runs as d', 'd.id', 'a.runId')
    .select(['d.subjectKind', 'd.subjectId'])
    .where('a.id', '=', anyId(ids))
    .where(isBelow(runId))
    .where('d.deletedAt', 'is', null)
    .where(own),
);

/** Returns those of these questions that a run or one of its descendants asks. */
export function readQuestions(tx: TenantTransaction, runId: string, ids: readonly string[]) {
  return rows(tx.em, askedBelow({ runId, own: tenantPredicate(tx.tenant, 'a'), ids }));
}

interface NamedQuestion {
  readonly runId: string;
  readonly approvalId: string;
  readonly reason: ApprovalReason;
}

const namedQuestion = prepared(({ runId, own, approvalId, reason }: ParametersOf<Asked & NamedQuestion>) =>
  query
    .selectFrom('approvals as a')
    .innerJoin('runs as d', 'd.id', 'a.runId')
    .select('a.id')
    .where('a.id', '=', approvalId)
    .where('a.reason', '=', reason)
    .where(isBelow(runId))
    .where(own),
);

/** Whether a run or one below it has asked this question for this reason. */
export async function hasQuestion(tx: TenantTransaction, { runId, approvalId, reason }: NamedQuestion): Promise<boolean> {
  return (await row(tx.em, namedQuestion({ runId, own: tenantPredicate(tx.tenant, 'a'), approvalId, reason }))) !== null;
}

const answerable = prepared(({ runId, own }: ParametersOf<Asked>) =>
  query
    .selectFrom('approvals as a')
    .innerJoin('runs as d', 'd.id', 'a.runId')
    .select('a.id')
    .where('a.rootRunId', '=', ({ selectFrom }) => selectFrom('runs').select('rootRunId').where('id', '=', runId))
    .where('a.status', '=', sql.lit('pending'))
    .where('a.expiresAt', '>', clockTime)
    .where(isBelow(runId))
    .where(own)
    .orderBy('a.id'),
);

/** Returns the pending questions of a run and its descendants that can still be answered. */
export function pendingBelow(tx: TenantTransaction, runId: string) {
  return rows(tx.em, answerable({ runId, own: tenantPredicate(tx.tenant, 'a') }));
}

const lockedQuestions = prepared(({ ids }: ParametersOf<{ readonly ids: readonly string[] }>) =>
  selectApprovals()
    .select(({ ref }) => sql<boolean>`${ref('a.expiresAt')} <= clock_timestamp()`.as('isLate'))
    .where('a.id', '=', anyId(ids))
    .orderBy('a.id')
    .forNoKeyUpdate(),
);

function lockedAmong(tx: TenantTransaction, ids: readonly string[]) {
  return rows(tx.em, lockedQuestions({ ids }));
}

/** Locks questions by ascending id; the caller has locked their runs. */
export async function lockQuestions(tx: TenantTransaction, ids: readonly string[]): Promise<Map<string, LockedQuestion>> {
  return new Map((await lockedAmong(tx, ids)).map((question) => [question.id, question]));
}

const statusOf = { approve: 'approved', reject: 'rejected', edit: 'edited', respond: 'responded' } as const satisfies Record<
  ApprovalDecision,
  ApprovalStatus
>;

interface WrittenAnswer {
  readonly id: string;
  readonly status: (typeof statusOf)[ApprovalDecision];
  readonly editedArgs: JsonText<Readonly<Record<string, unknown>>> | null;
  readonly response: JsonText<unknown> | null;
  readonly comment: string | null;
  readonly resolvedByKind: Resolver['kind'];
  readonly resolvedById: string | null;
}

const writtenAnswer = prepared((p: ParametersOf<WrittenAnswer>) =>
  query
    .with('a', (of) =>
      of
        .updateTable('approvals')
        .set({
          status: p.status,
          editedArgs: jsonb(p.editedArgs),
          response: jsonb(p.response),
          comment: p.comment,
          resolvedByKind: p.resolvedByKind,
          resolvedById: p.resolvedById,
          resolvedAt: clockTime,
        })
        .where('id', '=', p.id)
        .where('status', '=', sql.lit('pending'))
        .returning(changedColumns),
    )
    .selectFrom('a')
    .select(approvalColumns)
    .select(responseColumn),
);

/** Writes the answer of a locked, pending question. The code of a consent (`auth`) is not stored, so it can never be read. */
export async function writeAnswer(
  tx: TenantTransaction,
  { approval, resolution, args }: CheckedResolution,
  by: Resolver,
): Promise<ApprovalRow> {
  const { decision, response, comment } = resolution;
  const isStored = decision === 'respond' && approval.reason !== 'auth';
  const written = await row(
    tx.em,
    writtenAnswer({
      id: approval.id,
      status: statusOf[decision],
      editedArgs: args === null ? null : jsonText(args),
      response: isStored ? jsonText(response ?? null) : null,
      comment: comment ?? null,
      resolvedByKind: by.kind,
      resolvedById: by.id,
    }),
  );
  if (!written) throw new Error('a locked question was answered by somebody else');
  return written;
}

/** One answer in a request. */
export interface Resolution {
  readonly approval_id: string;
  readonly decision: ApprovalDecision;
  readonly edited_args?: Readonly<Record<string, unknown>>;
  readonly response?: unknown;
  readonly comment?: string | null;
  readonly args_hash?: string;
}

/** The principal that answers. */
export interface Resolver {
  readonly kind: 'user' | 'service_key' | 'system';
  readonly id: string | null;
}

/** An answer with its question, before either is locked. What is checked here never changes while a question is open. */
export interface CheckedResolution {
  readonly resolution: Resolution;
  readonly approval: AskedRow;
  /** For an edit, the arguments that the call will be executed with: values that the author has preset stay. Null for every other decision. */
  readonly args: Readonly<Record<string, unknown>> | null;
  /** The user for whom the asking run works. */
  readonly subjectId: string | null;
  /** JSON pointer of the answer in the request body. */
  readonly pointer: string;
}

const manifestOf = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs')
    .select(({ ref }) => ref('manifest').$castTo<Manifest | null>().as('manifest'))
    .where('id', '=', runId),
);

export async function readManifest(tx: TenantTransaction, runId: string): Promise<Manifest | null> {
  const found = await row(tx.em, manifestOf({ runId }));
  return found?.manifest ?? null;
}

const budgetQuestion = prepared(({ runId, step }: ParametersOf<{ readonly runId: string; readonly step: number }>) =>
  selectApprovals()
    .where('a.runId', '=', runId)
    .where('a.reason', '=', sql.lit('budget'))
    .where(({ eb, ref }) => eb(sql<number>`(${ref('a.args')} ->> 'step')::int`, '=', step))
    .orderBy('a.id', 'desc')
    .limit(sql.lit(1)),
);

/** Returns the run's newest question about the budget of this step, or null. */
export function lastQuestion(tx: TenantTransaction, run: RunState, step: number): Promise<ApprovalRow | null> {
  return row(tx.em, budgetQuestion({ runId: run.id, step }));
}
