import { type Expression, sql } from 'kysely';
import type { ExpectedCall, ItemInput } from '../../workflows/contracts/evaluations.ts';
import type { KeyedBill } from '../billing/ledger/call-bill.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** An evaluation as its workflow sees it. */
export type EvaluationState = NonNullable<Awaited<ReturnType<typeof readEvaluationState>>>;

function selectState(id: Expression<string>) {
  return query
    .selectFrom('evaluation_runs as e')
    .where('e.id', '=', id)
    .select(['e.id', 'e.organizationId', 'e.workspaceId', 'e.agentId', 'e.agentRevisionId', 'e.evaluators', 'e.settings', 'e.baselineId'])
    .select(['e.status', 'e.failureCode', 'e.createdByUserId', sql<boolean>`e.cancel_requested_at is not null`.as('isCancelRequested')]);
}

const oneState = prepared(({ id }: ParametersOf<{ readonly id: string }>) => selectState(id));
const lockedState = prepared(({ id }: ParametersOf<{ readonly id: string }>) => selectState(id).forNoKeyUpdate());

/** Locks an evaluation of the transaction's tenant; returns null when it is deleted. */
export function lockEvaluation(tx: TenantTransaction, id: string): Promise<EvaluationState | null> {
  return row(tx.em, lockedState({ id }));
}

/** The same without a lock. */
export function readEvaluationState(tx: Pick<TenantTransaction, 'em'>, id: string) {
  return row(tx.em, oneState({ id }));
}

/** A result whose run is to be started. */
export type PendingResult = Awaited<ReturnType<typeof nextPending>>[number];

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
export function nextPending(tx: TenantTransaction, evaluationRunId: string, limit: number) {
  return rows(
    tx.em,
    query
      .selectFrom('evaluation_results as r')
      .innerJoin('evaluation_items as i', 'i.id', 'r.itemId')
      .where('r.evaluationRunId', '=', evaluationRunId)
      .where('r.status', '=', 'pending')
      .select(['r.id', 'i.input'])
      .orderBy('r.id')
      .limit(limit),
  );
}

/** Returns the runs of an evaluation that are not being cancelled yet. */
export async function liveItemRuns(tx: TenantTransaction, evaluationRunId: string, limit: number): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('runs as r')
      .where('r.evaluationRunId', '=', evaluationRunId)
      .where('r.parentRunId', 'is', null)
      .where('r.deletedAt', 'is', null)
      .where('r.status', 'in', ['queued', 'running', 'waiting'])
      .select('r.id')
      .orderBy('r.id')
      .limit(limit),
  );
  return found.map(({ id }) => id);
}

/** Returns the ids of results that wait for their scores, in the order of their items. */
export async function scoringResults(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string, limit: number): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('evaluation_results')
      .where('evaluationRunId', '=', evaluationRunId)
      .where('status', '=', 'scoring')
      .select('id')
      .orderBy('id')
      .limit(limit),
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

/**
 * Returns the answer of a baseline to the same question: of the same repetition, otherwise of the first; null where the item has changed or its run is deleted.
 */
export function readBaselineOutput(
  tx: Pick<TenantTransaction, 'em'>,
  baselineId: string,
  { itemKey, contentSha256, repetition }: Pick<ClaimedResult, 'itemKey' | 'contentSha256' | 'repetition'>,
) {
  return row(
    tx.em,
    query
      .selectFrom('evaluation_items as i')
      .innerJoin('evaluation_results as r', 'r.itemId', 'i.id')
      .innerJoin('runs as u', 'u.id', 'r.runId')
      .where('u.deletedAt', 'is', null)
      .where('u.output', 'is not', null)
      .where('i.evaluationRunId', '=', baselineId)
      .where('i.itemKey', '=', itemKey)
      .where('i.contentSha256', '=', contentSha256)
      .select([sql<string | null>`u.output ->> 'text'`.as('text'), sql<unknown>`nullif(u.output -> 'json', 'null')`.as('json')])
      .orderBy((eb) => eb('r.repetition', '=', repetition), 'desc')
      .orderBy('r.repetition')
      .limit(1),
  );
}
