import type { ApprovalDecision, ApprovalReason } from '../../workflows/contracts/runs/approvals.ts';
import { tenantPredicate } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { approvalColumns, type ApprovalRow } from './approval-view.ts';
import type { Manifest } from '../runs/start/manifest.ts';
import type { RunState } from '../runs/run-state.ts';

/** A question with data of its run, for the check of an answer. */
export interface AskedRow extends ApprovalRow {
  readonly subject_kind: string | null;
  readonly subject_id: string | null;
}

/** A locked question; `is_late`: it is overdue, whether or not that has been recorded. */
export interface LockedQuestion extends ApprovalRow {
  readonly is_late: boolean;
}

/** A condition: the question belongs to a run or its descendants; `d` is the asking run. */
const below = '(a.run_id = ?::uuid or d.lineage @> array[?::uuid])';

/** Returns those of these questions that a run or one of its descendants asks. */
export function readQuestions(tx: TenantTransaction, runId: string, ids: readonly string[]): Promise<AskedRow[]> {
  const own = tenantPredicate(tx.tenant, 'a');
  return rows<AskedRow>(
    tx.em,
    `select ${approvalColumns}, d.subject_kind, d.subject_id from approvals a join runs d on d.id = a.run_id
      where a.id = any (?::uuid[]) and ${below} and d.deleted_at is null and ${own.sql}`,
    [[...ids], runId, runId, ...own.params],
  );
}

/** Whether a run or one below it has asked this question for this reason. */
export async function hasQuestion(
  tx: TenantTransaction,
  { runId, approvalId, reason }: { readonly runId: string; readonly approvalId: string; readonly reason: ApprovalReason },
): Promise<boolean> {
  const own = tenantPredicate(tx.tenant, 'a');
  const found = await row(
    tx.em,
    `select a.id from approvals a join runs q on q.id = a.run_id
      where a.id = ?::uuid and a.reason = ? and (q.id = ?::uuid or q.lineage @> array[?::uuid]) and ${own.sql}`,
    [approvalId, reason, runId, runId, ...own.params],
  );
  return found !== null;
}

/** Returns the pending questions of a run and its descendants that can still be answered. */
export function pendingBelow(tx: TenantTransaction, runId: string): Promise<{ readonly id: string }[]> {
  const own = tenantPredicate(tx.tenant, 'a');
  return rows<{ id: string }>(
    tx.em,
    `select a.id from approvals a join runs d on d.id = a.run_id
      where a.root_run_id = (select root_run_id from runs where id = ?) and a.status = 'pending' and a.expires_at > clock_timestamp() and ${below} and ${own.sql}
      order by a.id`,
    [runId, runId, runId, ...own.params],
  );
}

/** Locks questions by ascending id; the caller has locked their runs. */
export async function lockQuestions(tx: TenantTransaction, ids: readonly string[]): Promise<Map<string, LockedQuestion>> {
  const locked = await rows<LockedQuestion>(
    tx.em,
    `select ${approvalColumns}, a.expires_at <= clock_timestamp() as is_late from approvals a where a.id = any (?::uuid[]) order by a.id for no key update`,
    [[...ids]],
  );
  return new Map(locked.map((question) => [question.id, question]));
}

const statusOf = { approve: 'approved', reject: 'rejected', edit: 'edited', respond: 'responded' } as const;

/** Writes the answer of a locked, pending question. The code of a consent (`auth`) is not stored, so it can never be read. */
export async function writeAnswer(
  tx: TenantTransaction,
  { approval, resolution, args }: CheckedResolution,
  by: Resolver,
): Promise<ApprovalRow> {
  const { decision, response, comment } = resolution;
  const isKept = decision === 'respond' && approval.reason !== 'auth';
  const written = await row<ApprovalRow>(
    tx.em,
    `with a as (
       update approvals set status = ?, edited_args = ?::jsonb, response = ?::jsonb, comment = ?, resolved_by_kind = ?, resolved_by_id = ?, resolved_at = clock_timestamp()
        where id = ? and status = 'pending' returning *
     ) select ${approvalColumns} from a`,
    [
      statusOf[decision],
      args === null ? null : JSON.stringify(args),
      isKept ? JSON.stringify(response ?? null) : null,
      comment ?? null,
      by.kind,
      by.id,
      approval.id,
    ],
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

export async function readManifest(tx: TenantTransaction, runId: string): Promise<Manifest | null> {
  const found = await row<{ manifest: Manifest | null }>(tx.em, 'select manifest from runs where id = ?', [runId]);
  return found?.manifest ?? null;
}

/** Returns the run's newest question about the budget of this step, or null. */
export function lastQuestion(tx: TenantTransaction, run: RunState, step: number): Promise<ApprovalRow | null> {
  return row<ApprovalRow>(
    tx.em,
    `select ${approvalColumns} from approvals a where a.run_id = ? and a.reason = 'budget' and (a.args ->> 'step')::int = ? order by a.id desc limit 1`,
    [run.id, step],
  );
}
