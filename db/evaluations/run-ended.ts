import { sql } from 'kysely';
import { evaluationChanged } from '../../workflows/contracts/evaluations.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { addOutbox } from '../outbox.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { EvaluationResult } from './evaluation-result.entity.ts';

/** An evaluation and its tenant. */
export interface EvaluationPlace {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** The part of an ended run that its evaluation needs. */
export interface EndedItemRun {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly source: string;
  readonly parent_run_id: string | null;
  readonly evaluation_run_id: string | null;
}

/** The status of a result whose run has ended, and the reason. */
const verdict = sql<{ verdict: readonly [EvaluationResult['status'], string | null] }>`(select case
  when u.finish_reason in ('stop', 'refused') then array['scoring', null]
  when q.reason = 'waited' then array['failed', 'waited']
  when u.finish_reason in ('max_steps', 'max_output', 'timeout') then array['failed', u.finish_reason]
  when e.cancel_requested_at is not null then array['skipped', 'cancelled']
  when e.failure_code is not null and u.finish_reason = 'cancelled' then array['skipped', e.failure_code]
  when u.finish_reason = 'budget_exceeded' and u.error ->> 'reason' = 'max_cost' then array['error', 'max_cost']
  when u.finish_reason = 'budget_exceeded' then array['skipped', 'budget_exceeded']
  else array['error', coalesce(u.error ->> 'reason', u.error ->> 'code', u.finish_reason)] end as verdict)`;

const tokensUsed = sql<EvaluationResult['tokens']>`jsonb_build_object(
  'input', (x.usage -> 'tokens' ->> 'input')::int8 + (x.usage -> 'tokens' ->> 'cached_read')::int8 + (x.usage -> 'tokens' ->> 'cached_write')::int8,
  'output', (x.usage -> 'tokens' ->> 'output')::int8 + (x.usage -> 'tokens' ->> 'reasoning')::int8)`;

interface EndedItems {
  readonly runId?: string;
  readonly evaluationRunId?: string;
}

/**
 * Maps the end of an item's run to its result. Answers are scored; reaching a limit of the agent is the agent's own failure; reaching the budget of the
 * evaluation or of the workspace, or being cancelled with the evaluation or as it fails, skips the result. The cost of the run is stored in every case.
 */
const endItems = prepared(({ runId, evaluationRunId }: ParametersOf<EndedItems>) => {
  let ended = query
    .selectFrom('evaluation_results as q')
    .innerJoin('runs as u', 'u.id', 'q.runId')
    .innerJoin('evaluation_runs as e', 'e.id', 'q.evaluationRunId')
    .innerJoinLateral(verdict.as('v'), (join) => join.onTrue())
    .where('q.status', '=', 'running')
    .where('u.finishedAt', 'is not', null)
    .select(['q.id', 'u.activeMs', 'u.usageSubtree as usage', sql<number>`(u.usage_own ->> 'model_calls')::int`.as('turns')])
    .select([sql<EvaluationResult['status']>`v.verdict[1]`.as('status'), sql<string | null>`v.verdict[2]`.as('reason')]);
  if (runId) ended = ended.where('q.runId', '=', runId);
  if (evaluationRunId) ended = ended.where('q.evaluationRunId', '=', evaluationRunId);
  return query
    .updateTable('evaluation_results')
    .from(ended.as('x'))
    .set(({ ref }) => ({
      status: ref('x.status'),
      score: sql<string | null>`case when x.status = 'failed' then 0 end`,
      reason: ref('x.reason'),
      finishedAt: sql<string | null>`case when x.status <> 'scoring' then clock_timestamp() end`,
      latencyMs: sql<number>`least(x.active_ms, 2147483647)`,
      cost: sql<string>`(x.usage ->> 'cost_amount')::numeric`,
      turns: ref('x.turns'),
      tokens: tokensUsed,
    }))
    .whereRef('evaluation_results.id', '=', 'x.id')
    .where('evaluation_results.status', '=', 'running');
});

/** Ends the item of a run, in the transaction that ends the run, and wakes the evaluation. Does nothing for other runs, at no cost. */
export async function endItemOf(tx: TenantTransaction, run: EndedItemRun): Promise<void> {
  if (run.source !== 'evaluation' || run.evaluation_run_id === null || run.parent_run_id !== null) return;
  await change(tx.em, endItems({ runId: run.id }));
  const place = { id: run.evaluation_run_id, organizationId: run.organization_id, workspaceId: run.workspace_id };
  await wakeEvaluation(tx, place, `item:${run.id}`);
}

/** Ends the items of all ended runs of an evaluation, in case any were missed. */
export async function endItemsOf(tx: TenantTransaction, evaluationRunId: string): Promise<void> {
  await change(tx.em, endItems({ evaluationRunId }));
}

/** Records that a run waits for a person, for which it is cancelled: its result fails. Does nothing for other runs. */
export async function recordWaited(tx: TenantTransaction, runId: string): Promise<void> {
  await change(
    tx.em,
    query.updateTable('evaluation_results').set({ reason: 'waited' }).where('runId', '=', runId).where('status', '=', 'running'),
  );
}

/** Starts the workflow of an evaluation, or wakes it, once per occasion. A workflow that has ended stays ended. */
export async function wakeEvaluation(tx: TenantTransaction, place: EvaluationPlace, occasion: string): Promise<void> {
  await startEvaluationWorkflow(tx, place, { occasion, reuse: 'reject_duplicate' });
}

/** Starts the workflow of an evaluation that has lost it, whatever became of the earlier one. */
export async function restartEvaluation(tx: TenantTransaction, place: EvaluationPlace, occasion: string): Promise<void> {
  await startEvaluationWorkflow(tx, place, { occasion, reuse: 'allow_duplicate' });
}

async function startEvaluationWorkflow(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: EvaluationPlace,
  { occasion, reuse }: { readonly occasion: string; readonly reuse: 'reject_duplicate' | 'allow_duplicate' },
): Promise<void> {
  const workflowId = workflowIds.evaluation(id);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'evaluation',
      workflowId,
      taskQueue: taskQueues.bulk,
      args: [{ evaluationRunId: id }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse,
      signal: evaluationChanged,
      priority: 5,
      searchAttributes: {},
    },
    { dedupeKey: `${workflowId}:${occasion}` },
  );
}
