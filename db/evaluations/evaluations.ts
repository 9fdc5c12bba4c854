import { sql } from 'kysely';
import type { Condition } from '../condition.ts';
import type { WorkPage } from '../knowledge/runs/live-work.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import type { CancelFilter } from '../runs/end/cancellable-runs.ts';
import { visibleToSql, seen, visibleTo, type Scoped, type Changing } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { EvaluationRun, type EvaluationStatus } from './evaluation-run.entity.ts';

/** An evaluation as it is read. */
export type EvaluationRow = NonNullable<Awaited<ReturnType<typeof findEvaluation>>>;

/** Null: none, or it was erased with a run. */
const resultsAttachmentId = query
  .selectFrom('attachment_links as l')
  .where('l.ownerKind', '=', sql.lit('evaluation'))
  .where('l.ownerId', '=', sql<string>`e.id`)
  .select('l.attachmentId')
  .limit(sql.lit(1));

function selectEvaluations(visible: Condition) {
  return query
    .selectFrom('evaluation_runs as e')
    .where(visible)
    .select(['e.id', 'e.organizationId', 'e.workspaceId', 'e.agentId', 'e.agentRevisionId', 'e.datasetName', 'e.datasetSha256'])
    .select(['e.evaluators', 'e.settings', 'e.baselineId', 'e.status', 'e.summary', 'e.failureCode', 'e.createdAt', 'e.finishedAt'])
    .select(resultsAttachmentId.as('resultsAttachmentId'));
}

const oneEvaluation = prepared(({ id, visible }: ParametersOf<{ readonly id: string; readonly visible: Condition }>) =>
  selectEvaluations(visible).where('e.id', '=', id),
);

/** Returns one evaluation that the caller sees. Throws 404, or 403 where the caller's rank is below the floor. */
export async function readEvaluation(ctx: Scoped, id: string): Promise<EvaluationRow> {
  return seen(ctx, await findEvaluation(ctx, id));
}

/** Returns one evaluation that the caller sees, or null when there is none. */
export function findEvaluation(ctx: Scoped, id: string) {
  return row(ctx.em, oneEvaluation({ id, visible: visibleToSql(ctx, EvaluationRun, 'e') }));
}

export interface EvaluationFilters {
  readonly agentId?: string;
  readonly status?: EvaluationStatus;
}

const evaluationList = preparedList(
  ({ agentId, status, visible }: ParametersOf<EvaluationFilters & { readonly visible: Condition }>) => {
    let evaluations = selectEvaluations(visible);
    if (agentId) evaluations = evaluations.where('e.agentId', '=', agentId);
    if (status) evaluations = evaluations.where('e.status', '=', status);
    return evaluations;
  },
  [{ column: 'e.id', type: 'uuid', descending: true }],
);

/** Returns the evaluations that the caller sees, newest first. */
export function listEvaluationRows(ctx: Scoped, filters: EvaluationFilters, page: PageRequest) {
  return evaluationList(ctx.em, { ...filters, visible: visibleTo(ctx, EvaluationRun, 'e') }, page);
}

/** Returns evaluations that have not ended, and whether the start of their workflow is unsent. Sweeper's pool. */
export function liveEvaluations(tx: Pick<TenantTransaction, 'em'>, { after, limit }: WorkPage) {
  return rows(
    tx.em,
    query
      .selectFrom('evaluation_runs as e')
      .where('e.finishedAt', 'is', null)
      .where('e.createdAt', '<', sql<string>`now() - interval '1 minute'`)
      .$if(after !== null, (live) => live.where('e.id', '>', after ?? ''))
      .select(['e.id', 'e.organizationId', 'e.workspaceId'])
      .select(({ exists, selectFrom }) =>
        exists(
          selectFrom('outbox as o')
            .where('o.target', '=', sql<string>`'eval:' || e.id`)
            .where('o.kind', '=', sql.lit('workflow.start'))
            .where('o.sentAt', 'is', null)
            .select('o.id'),
        )
          .$castTo<boolean>()
          .as('isUnsent'),
      )
      .orderBy('e.id')
      .limit(limit),
  );
}

/**
 * Returns the evaluation that a filter of runs names and that the caller may cancel, or null when there is none or the filter has a condition that no
 * evaluation meets.
 */
export async function findCancellable(ctx: Changing, filter: CancelFilter) {
  const { evaluation_run_id: id, agent_id: agentId, session_key: sessionKey, trigger_id: triggerId } = filter;
  if (id === undefined || sessionKey !== undefined || triggerId !== undefined) return null;
  let named = query
    .selectFrom('evaluation_runs as e')
    .innerJoin('workspaces as w', 'w.id', 'e.workspaceId')
    .innerJoin('organizations as o', 'o.id', 'e.organizationId')
    .where('w.isActive', '=', sql.lit(true))
    .where('o.status', '=', 'active')
    .where('e.id', '=', id)
    .where(visibleTo(ctx, EvaluationRun, 'e'));
  if (agentId !== undefined) named = named.where('e.agentId', '=', agentId);
  return row(ctx.em, named.select(['e.id', 'e.organizationId', 'e.workspaceId']));
}
