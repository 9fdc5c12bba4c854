import type { EvaluationSettings, ExpectedCall, ItemInput, StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import { change, row, rows } from '../sql.ts';
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

/** Locks an evaluation of the transaction's tenant; null: it is gone. */
export function lockEvaluation(tx: TenantTransaction, id: string): Promise<EvaluationState | null> {
  return row<EvaluationState>(tx.em, `select ${stateColumns} from evaluation_runs e where e.id = ? for no key update`, [id]);
}

/** The same without a lock. */
export function readEvaluationState(tx: Pick<TenantTransaction, 'em'>, id: string): Promise<EvaluationState | null> {
  return row<EvaluationState>(tx.em, `select ${stateColumns} from evaluation_runs e where e.id = ?`, [id]);
}

/** What changes of an evaluation on its way; the caller holds its row. */
export interface EvaluationChange {
  readonly status?: EvaluationStatus;
  readonly failureCode?: string | null;
  readonly summary?: Readonly<Record<string, unknown>>;
  readonly isCancelRequested?: true;
}

/** Writes what changes of a locked evaluation; its times follow from its status. */
export async function writeEvaluation(
  tx: TenantTransaction,
  id: string,
  { status, failureCode, summary, isCancelRequested }: EvaluationChange,
) {
  const isTerminal = status === 'succeeded' || status === 'failed' || status === 'cancelled';
  await rows(
    tx.em,
    `update evaluation_runs set version = version + 1, status = coalesce(?, status), failure_code = coalesce(?, failure_code), summary = coalesce(?::jsonb, summary),
            cancel_requested_at = case when ? then coalesce(cancel_requested_at, clock_timestamp()) else cancel_requested_at end,
            started_at = case when ? then clock_timestamp() else started_at end, finished_at = case when ? then clock_timestamp() else finished_at end
      where id = ?`,
    [
      status ?? null,
      failureCode ?? null,
      summary === undefined ? null : JSON.stringify(summary),
      isCancelRequested ?? false,
      status === 'running',
      isTerminal,
      id,
    ],
  );
}

/** A result whose run is to be started. */
export interface PendingResult {
  readonly id: string;
  readonly input: ItemInput;
}

/** How many results are at each state, and whether one of them met a full budget. */
export interface ResultCounts {
  readonly pending: number;
  readonly running: number;
  readonly scoring: number;
  readonly isBudgetFull: boolean;
}

const at = (status: string) => `select from evaluation_results r where r.evaluation_run_id = e.id and r.status = '${status}'`;
/** More than may be started at once. */
const maxPending = 100;

/** Counts what has no end yet; of pending results as many as matter. */
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

/** The next results without a run, in the order of their items: ids ascend with them. */
export function nextPending(tx: TenantTransaction, evaluationRunId: string, limit: number): Promise<PendingResult[]> {
  return rows<PendingResult>(
    tx.em,
    `select r.id, i.input from evaluation_results r join evaluation_items i on i.id = r.item_id
      where r.evaluation_run_id = ? and r.status = 'pending' order by r.id limit ?`,
    [evaluationRunId, limit],
  );
}

/** Gives results their runs. */
export async function noteStarted(
  tx: TenantTransaction,
  started: readonly { readonly id: string; readonly run_id: string }[],
): Promise<void> {
  if (started.length === 0) return;
  await rows(
    tx.em,
    `update evaluation_results r set status = 'running', run_id = d.run_id from jsonb_to_recordset(?::jsonb) as d(id uuid, run_id uuid)
      where r.id = d.id and r.status = 'pending'`,
    [JSON.stringify(started)],
  );
}

/** Ends a result whose run could not be started. */
export async function noteNotStarted(tx: TenantTransaction, id: string, reason: string): Promise<void> {
  await rows(
    tx.em,
    `update evaluation_results set status = 'error', reason = ?, finished_at = clock_timestamp() where id = ? and status = 'pending'`,
    [reason.slice(0, 2_000), id],
  );
}

/** Skips all results without an end; gives how many. */
export function skipRest(tx: TenantTransaction, evaluationRunId: string, reason: string): Promise<number> {
  return change(
    tx.em,
    `update evaluation_results set status = 'skipped', reason = ?, votes = '{}', finished_at = clock_timestamp()
      where evaluation_run_id = ? and status in ('pending', 'running', 'scoring')`,
    [reason, evaluationRunId],
  );
}

/** The runs of an evaluation that have not been told to end. */
export async function liveItemRuns(tx: TenantTransaction, evaluationRunId: string, limit: number): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select r.id from runs r where r.evaluation_run_id = ? and r.parent_run_id is null and r.deleted_at is null and r.status in ('queued', 'running', 'waiting') order by r.id limit ?`,
    [evaluationRunId, limit],
  );
  return found.map(({ id }) => id);
}

/** Ids of results that wait for their scores, in the order of their items. */
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

/** A tool call of a run, with what it gave. */
export interface CallFacts {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>> | null;
  readonly output: unknown;
}

/** All that scoring a result takes. */
export interface ClaimedResult {
  readonly id: string;
  readonly attempts: number;
  readonly repetition: number;
  readonly votes: Readonly<Record<string, StoredVote>>;
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
  /** Texts of the messages with passages, and ids that citations of the answer name. */
  readonly passages: readonly string[];
  readonly citedItemIds: readonly string[];
}

/** Counts an attempt to score a result and gives what that takes; null: it does not wait for scores any more. */
export function claimResult(tx: TenantTransaction, resultId: string): Promise<ClaimedResult | null> {
  return row<ClaimedResult>(
    tx.em,
    `with c as (update evaluation_results set attempts = attempts + 1 where id = ? and status = 'scoring' returning *)
     select c.id, c.attempts, c.repetition, c.votes, i.item_key as "itemKey", i.content_sha256 as "contentSha256", i.input, i.expected, i.context,
            i.tools_expected as "toolsExpected", i.evaluator_keys as "evaluatorKeys", coalesce(c.latency_ms, 0) as "latencyMs", coalesce(c.cost, 0)::text as cost,
            coalesce(c.tokens, '{"input": 0, "output": 0}') as tokens, coalesce(c.turns, 0) as turns, u.id as "runId",
            u.output ->> 'text' as "outputText", nullif(u.output -> 'json', 'null') as "outputJson",
            coalesce((select jsonb_agg(jsonb_build_object('tool', t.slug, 'arguments', t.args, 'output', t.output) order by t.step, t.pos)
                        from tool_calls t where t.run_id = u.id), '[]') as calls,
            coalesce((select jsonb_agg(b ->> 'text') from messages m cross join jsonb_array_elements(m.content) b
                       where m.run_id = u.id and m.role = 'system' and m.origin = 'system' and b ->> 'type' = 'text'), '[]') as passages,
            coalesce((select jsonb_agg(b ->> 'item_id') from messages m cross join jsonb_array_elements(m.content) b
                       where m.run_id = u.id and m.role = 'assistant' and b ->> 'type' = 'citation' and b ->> 'item_id' is not null), '[]') as "citedItemIds"
       from c join evaluation_items i on i.id = c.item_id left join runs u on u.id = c.run_id and u.deleted_at is null`,
    [resultId],
  );
}

/** Stores a vote of a judge, once: a later one of the same name changes nothing. */
export async function storeVote(tx: TenantTransaction, resultId: string, name: string, vote: StoredVote): Promise<void> {
  await rows(
    tx.em,
    `update evaluation_results set votes = jsonb_build_object(?::text, ?::jsonb) || votes where id = ? and status = 'scoring'`,
    [name, JSON.stringify(vote), resultId],
  );
}

/** The votes that are stored of a result. */
export async function readVotes(tx: Pick<TenantTransaction, 'em'>, resultId: string): Promise<Readonly<Record<string, StoredVote>>> {
  const found = await row<{ votes: Record<string, StoredVote> }>(tx.em, 'select votes from evaluation_results where id = ?', [resultId]);
  return found?.votes ?? {};
}

/** What an evaluator said, about to be written. */
export interface NewScore {
  readonly id: string;
  readonly key: string;
  readonly state: 'done' | 'error' | 'skipped';
  readonly score: number | null;
  readonly passed: boolean | null;
  readonly reason: string | null;
  readonly errorCode: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** How a result ends. */
export interface ResultEnd {
  readonly status: 'passed' | 'failed' | 'error' | 'skipped';
  readonly score: number | null;
  readonly reason: string | null;
  readonly scores: readonly NewScore[];
}

/** Ends a result with all its scores, at once and once; false: it has ended before. */
export async function endResult(tx: TenantTransaction, resultId: string, { status, score, reason, scores }: ResultEnd): Promise<boolean> {
  const ended = await rows(
    tx.em,
    `with ended as (
       update evaluation_results set status = ?, score = ?, reason = ?, votes = '{}', finished_at = clock_timestamp() where id = ? and status = 'scoring'
       returning id, organization_id, workspace_id),
     written as (
       insert into evaluation_scores (id, organization_id, workspace_id, result_id, evaluator_key, state, score, passed, reason, error_code, details)
       select d.id, e.organization_id, e.workspace_id, e.id, d.key, d.state, d.score, d.passed, d.reason, d."errorCode", d.details
         from ended e cross join jsonb_to_recordset(?::jsonb) as d(id uuid, key text, state text, score numeric, passed boolean, reason text, "errorCode" text, details jsonb))
     select id from ended`,
    [status, score, reason, resultId, JSON.stringify(scores)],
  );
  return ended.length > 0;
}

/** What the baseline's run of an item answered. */
export interface BaselineOutput {
  readonly text: string | null;
  readonly json: unknown;
}

/** The answer of a baseline to the same question: of the same repetition, else of the first; null where the item has changed or its run is gone. */
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
