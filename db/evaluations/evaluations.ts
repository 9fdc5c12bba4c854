import type { EvaluationSettings, StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { EvaluationRun, type EvaluationStatus } from './evaluation-run.entity.ts';

/** An evaluation as it is read. */
export interface EvaluationRow {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly agent_revision_id: string;
  readonly dataset_name: string | null;
  readonly dataset_sha256: string;
  readonly evaluators: readonly StoredEvaluator[];
  readonly settings: EvaluationSettings;
  readonly baseline_id: string | null;
  readonly status: EvaluationStatus;
  readonly summary: Readonly<Record<string, unknown>>;
  readonly failure_code: string | null;
  /** Null: none, or it was erased with a run. */
  readonly results_attachment_id: string | null;
  readonly created_at: string;
  readonly finished_at: string | null;
}

const columns = `e.id, e.organization_id, e.workspace_id, e.agent_id, e.agent_revision_id, e.dataset_name, e.dataset_sha256, e.evaluators, e.settings, e.baseline_id, e.status,
  e.summary, e.failure_code, e.created_at, e.finished_at,
  (select l.attachment_id from attachment_links l where l.owner_kind = 'evaluation' and l.owner_id = e.id limit 1) as results_attachment_id`;

/** One evaluation that the caller sees. Throws 404, 403 where the caller's rank is below the floor. */
export async function readEvaluation(ctx: Scoped, id: string): Promise<EvaluationRow> {
  return seen(ctx, await findEvaluation(ctx, id));
}

/** One evaluation in the caller's sight; null: there is none. */
export function findEvaluation(ctx: Scoped, id: string): Promise<EvaluationRow | null> {
  const visible = visibleToSql(ctx, EvaluationRun, 'e');
  return row<EvaluationRow>(ctx.em, `select ${columns} from evaluation_runs e where e.id = ? and ${visible.sql}`, [id, ...visible.params]);
}

export interface EvaluationFilters {
  readonly agent_id?: string;
  readonly status?: EvaluationStatus;
}

/** Evaluations that the caller sees, newest first. */
export function listEvaluationRows(ctx: Scoped, filters: EvaluationFilters, page: PageRequest): Promise<Page<EvaluationRow>> {
  const visible = visibleTo(ctx, EvaluationRun, 'e');
  const names = (['agent_id', 'status'] as const).filter((name) => filters[name] !== undefined);
  return fetchPage<EvaluationRow>(ctx.em, {
    select: columns,
    from: 'evaluation_runs e',
    where: [visible.sql, ...names.map((name) => `e.${name} = ?`)].join(' and '),
    params: [...visible.params, ...names.map((name) => filters[name])],
    order: [{ column: 'e.id', type: 'uuid', descending: true }],
    page,
  });
}
