import type { EvaluationSettings, ExpectedCall, ItemInput, StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import type { KeyedBill } from '../billing/ledger/call-bill.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { EvaluationStatus } from './evaluation-run.entity.ts';

/** An evaluation as its workflow sees it. */
export interface EvaluationState {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly agentRevisionId: string;
  readonly evaluators: readonly StoredEvaluator[];
  readonly settings: EvaluationSettings;
  readonly baselineId: string | null;
  readonly status: EvaluationStatus;
  readonly failureCode: string | null;
  readonly isCancelRequested: boolean;
  readonly createdByUserId: string | null;
}

const stateColumns = `e.id, e.organization_id as "organizationId", e.workspace_id as "workspaceId", e.agent_id as "agentId", e.agent_revision_id as "agentRevisionId", e.evaluators,
  e.settings, e.baseline_id as "baselineId", e.status, e.failure_code as "failureCode", e.cancel_requested_at is not null as "isCancelRequested",
  e.created_by_user_id as "createdByUserId"`;

/** Locks an evaluation of the transaction's tenant; returns null when it is deleted. */
export function lockEvaluation(tx: TenantTransaction, id: string): Promise<EvaluationState | null> {
  return row<EvaluationState>(tx.em, `select ${stateColumns} from evaluation_runs e where e.id = ? for no key update`, [id]);
}

/** The same without a lock. */
export function readEvaluationState(tx: Pick<TenantTransaction, 'em'>, id: string): Promise<EvaluationState | null> {
  return row<EvaluationState>(tx.em, `select ${stateColumns} from evaluation_runs e where e.id = ?`, [id]);
}

/** A result whose run is to be started. */
export interface PendingResult {
  readonly id: string;
  readonly input: ItemInput;
}

/** How many results are in each state, and whether one of them met a full budget. */
export interface ResultCounts {
  readonly pending: number;
  readonly running: number;
  readonly scoring: number;
  readonly isBudgetFull: boolean;
}

const at = (status: string) => `select from evaluation_results r where r.evaluation_run_id = e.id and r.status = '${status}'`;
/** More than may be started at once. */
const maxPending = 100;

/** Counts results that have not ended; pending ones only up to `maxPending`. */
export async function countResults(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string): Promise<ResultCounts> {
  const found = await row<ResultCounts>(
    tx.em,
    `select (select count(*)::int from (${at('pending')} limit ${maxPending}) p) as pending, (select count(*)::int from (${at('running')}) p) as running,
            (select count(*)::int from (${at('scoring')}) p) as scoring, exists (${at('skipped')} and r.reason = 'budget_exceeded') as "isBudgetFull"
       from (select ?::uuid as id) e`,
    [evaluationRunId],
  );
  return found ?? { pending: 0, running: 0, scoring: 0, isBudgetFull: false };
}

/** Returns the next results without a run, in the order of their items: their ids ascend in that order. */
export function nextPending(tx: TenantTransaction, evaluationRunId: string, limit: number): Promise<PendingResult[]> {
  return rows<PendingResult>(
    tx.em,
    `select r.id, i.input from evaluation_results r join evaluation_items i on i.id = r.item_id
      where r.evaluation_run_id = ? and r.status = 'pending' order by r.id limit ?`,
    [evaluationRunId, limit],
  );
}

/** Returns the runs of an evaluation that are not being cancelled yet. */
export async function liveItemRuns(tx: TenantTransaction, evaluationRunId: string, limit: number): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select r.id from runs r where r.evaluation_run_id = ? and r.parent_run_id is null and r.deleted_at is null and r.status in ('queued', 'running', 'waiting') order by r.id limit ?`,
    [evaluationRunId, limit],
  );
  return found.map(({ id }) => id);
}

/** Returns the ids of results that wait for their scores, in the order of their items. */
export async function scoringResults(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string, limit: number): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select r.id from evaluation_results r where r.evaluation_run_id = ? and r.status = 'scoring' order by r.id limit ?`,
    [evaluationRunId, limit],
  );
  return found.map(({ id }) => id);
}

/** A vote of a judge as it is stored. */
export interface StoredVote {
  readonly value: unknown;
  readonly raw: string;
}

/** A requested vote: what its bill needs in case the worker is lost. */
export interface AskedVote {
  readonly asked: KeyedBill;
}

/** A vote whose call is under way, or was when its worker was lost. */
export interface OpenVote extends AskedVote {
  readonly resultId: string;
  readonly name: string;
}

/** Returns at most `limit` votes of an evaluation that are still requested. */
export function openVotes(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string, limit: number): Promise<OpenVote[]> {
  return rows<OpenVote>(
    tx.em,
    `select r.id as "resultId", v.key as name, v.value -> 'asked' as asked from evaluation_results r cross join jsonb_each(r.votes) v
      where r.evaluation_run_id = ? and r.status = 'scoring' and jsonb_exists(v.value, 'asked') order by r.id, v.key limit ?`,
    [evaluationRunId, limit],
  );
}

/** A tool call of a run, with its output. */
export interface CallFacts {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>> | null;
  readonly output: unknown;
}

/** All that scoring a result requires. */
export interface ClaimedResult {
  readonly id: string;
  readonly attempts: number;
  readonly repetition: number;
  readonly votes: Readonly<Record<string, StoredVote | AskedVote>>;
  readonly itemKey: string;
  readonly contentSha256: string;
  readonly input: ItemInput;
  readonly expected: unknown;
  readonly context: Readonly<Record<string, unknown>> | null;
  readonly toolsExpected: readonly ExpectedCall[] | null;
  readonly evaluatorKeys: readonly string[] | null;
  readonly latencyMs: number;
  readonly cost: string;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly turns: number;
  /** Null: the run was purged. */
  readonly runId: string | null;
  readonly outputText: string | null;
  readonly outputJson: unknown;
  readonly calls: readonly CallFacts[];
  /** Texts of the messages with passages, and ids of the items that citations of the answer name. */
  readonly passages: readonly string[];
  readonly citedItemIds: readonly string[];
}

/** The answer of the baseline's run of an item. */
export interface BaselineOutput {
  readonly text: string | null;
  readonly json: unknown;
}

/**
 * Returns the answer of a baseline to the same question: of the same repetition, otherwise of the first; null where the item has changed or its run is deleted.
 */
export function readBaselineOutput(
  tx: Pick<TenantTransaction, 'em'>,
  baselineId: string,
  { itemKey, contentSha256, repetition }: Pick<ClaimedResult, 'itemKey' | 'contentSha256' | 'repetition'>,
): Promise<BaselineOutput | null> {
  return row<BaselineOutput>(
    tx.em,
    `select u.output ->> 'text' as text, nullif(u.output -> 'json', 'null') as json
       from evaluation_items i join evaluation_results r on r.item_id = i.id join runs u on u.id = r.run_id and u.deleted_at is null and u.output is not null
      where i.evaluation_run_id = ? and i.item_key = ? and i.content_sha256 = ? order by r.repetition = ? desc, r.repetition limit 1`,
    [baselineId, itemKey, contentSha256, repetition],
  );
}
