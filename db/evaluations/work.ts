import { type Expression, type Selectable, sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AskedVote } from './evaluation-result.entity.ts';

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

/** More than may be started at once. */
const maxPending = 100;

function resultsAt(evaluationRunId: Expression<string>, status: Selectable<Tables['evaluation_results']>['status']) {
  return query
    .selectFrom('evaluation_results as r')
    .where('r.evaluationRunId', '=', evaluationRunId)
    .where('r.status', '=', sql.lit(status))
    .select('r.id');
}

const resultCounts = prepared(({ id }: ParametersOf<{ readonly id: string }>) => {
  const pending = resultsAt(id, 'pending').limit(sql.lit(maxPending));
  const countOf = (results: typeof pending) => query.selectFrom(results.as('p')).select(sql<number>`count(*)::int`.as('n'));
  return query.selectNoFrom(({ exists }) => [
    countOf(pending).as('pending'),
    countOf(resultsAt(id, 'running')).as('running'),
    countOf(resultsAt(id, 'scoring')).as('scoring'),
    exists(resultsAt(id, 'skipped').where('r.reason', '=', 'budget_exceeded'))
      .$castTo<boolean>()
      .as('isBudgetFull'),
  ]);
});

/** Counts results that have not ended, pending ones only up to `maxPending`, and returns whether one met a full budget. */
export async function countResults(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string) {
  const found = await row(tx.em, resultCounts({ id: evaluationRunId }));
  return {
    pending: found?.pending ?? 0,
    running: found?.running ?? 0,
    scoring: found?.scoring ?? 0,
    isBudgetFull: found?.isBudgetFull ?? false,
  };
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

/** A vote whose call is under way, or was when its worker was lost. */
export type OpenVote = Awaited<ReturnType<typeof openVotes>>[number];

/** Returns at most `limit` votes of an evaluation that are still requested. */
export function openVotes(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string, limit: number) {
  return rows(
    tx.em,
    query
      .selectFrom('evaluation_results as r')
      .innerJoinLateral(sql<{ key: string; value: AskedVote }>`jsonb_each(r.votes)`.as('v'), (join) => join.onTrue())
      .where('r.evaluationRunId', '=', evaluationRunId)
      .where('r.status', '=', 'scoring')
      .where(sql<boolean>`jsonb_exists(v.value, 'asked')`)
      .select(['r.id as resultId', 'v.key as name', sql<AskedVote['asked']>`v.value -> 'asked'`.as('asked')])
      .orderBy('r.id')
      .orderBy('v.key')
      .limit(limit),
  );
}

/** A repetition of an item, by what identifies it in another evaluation. */
interface Question {
  readonly itemKey: string;
  readonly contentSha256: string;
  readonly repetition: number;
}

/**
 * Returns the answer of a baseline to the same question: of the same repetition, otherwise of the first; null where the item has changed or its run is deleted.
 */
export function readBaselineOutput(
  tx: Pick<TenantTransaction, 'em'>,
  baselineId: string,
  { itemKey, contentSha256, repetition }: Question,
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
