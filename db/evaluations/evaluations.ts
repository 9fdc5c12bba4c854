import type { EvaluationSettings, StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { visibleToSql, seen, visibleTo, type Scoped, type Changing } from '../scope.ts';
import { row, rows } from '../sql.ts';
import { EvaluationRun, type EvaluationStatus } from './evaluation-run.entity.ts';
import type { LiveWork, WorkPage } from '../knowledge/runs/live-work.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { CancelFilter, RunAddress } from '../runs/end/cancellable-runs.ts';

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

/** Returns one evaluation that the caller sees. Throws 404, or 403 where the caller's rank is below the floor. */
export async function readEvaluation(ctx: Scoped, id: string): Promise<EvaluationRow> {
  return seen(ctx, await findEvaluation(ctx, id));
}

/** Returns one evaluation that the caller sees, or null when there is none. */
export function findEvaluation(ctx: Scoped, id: string): Promise<EvaluationRow | null> {
  const visible = visibleToSql(ctx, EvaluationRun, 'e');
  return row<EvaluationRow>(ctx.em, `select ${columns} from evaluation_runs e where e.id = ? and ${visible.sql}`, [id, ...visible.params]);
}

export interface EvaluationFilters {
  readonly agent_id?: string;
  readonly status?: EvaluationStatus;
}

/** Returns the evaluations that the caller sees, newest first. */
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

/** Returns evaluations that have not ended, and whether the start of their workflow is unsent. Sweeper's pool. */
export function liveEvaluations(tx: Pick<TenantTransaction, 'em'>, { after, limit }: WorkPage): Promise<LiveWork[]> {
  return rows<LiveWork>(
    tx.em,
    `select e.id, e.organization_id as "organizationId", e.workspace_id as "workspaceId",
            exists (select from outbox o where o.target = 'eval:' || e.id and o.kind = 'workflow.start' and o.sent_at is null) as "isUnsent"
       from evaluation_runs e
      where e.finished_at is null and e.created_at < now() - interval '1 minute' and e.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
      order by e.id limit ?`,
    [after, limit],
  );
}

/**
 * Returns the evaluation that a filter of runs names and that the caller may cancel, or null when there is none or the filter has a condition that no
 * evaluation meets.
 */
export async function findCancellable(ctx: Changing, filter: CancelFilter): Promise<RunAddress | null> {
  const { evaluation_run_id: id, agent_id: agentId, session_key: sessionKey, trigger_id: triggerId } = filter;
  if (id === undefined || sessionKey !== undefined || triggerId !== undefined) return null;
  const visible = visibleTo(ctx, EvaluationRun, 'e');
  return row<RunAddress>(
    ctx.em,
    `select e.id, e.organization_id, e.workspace_id from evaluation_runs e
       join workspaces w on w.id = e.workspace_id and w.is_active join organizations o on o.id = e.organization_id and o.status = 'active'
      where e.id = ? and (?::uuid is null or e.agent_id = ?) and ${visible.sql}`,
    [id, agentId ?? null, agentId ?? null, ...visible.params],
  );
}
