import type { RunStatus, WaitingOn } from '../../../workflows/contracts/runs/runs.ts';
import { fetchPage } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { visibleToSql, tenantPredicate, seen, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { Run } from '../run.entity.ts';
import { runColumns, runFrom, runListColumns, type RunRow } from './run-view.ts';

const runTexts = new Map<string, string>();

/**
 * Returns the statement that reads a run under a condition. There are few conditions, so texts are cached: a new text for each read would be compared in
 * full each time.
 */
function runWhere(condition: string): string {
  const known = runTexts.get(condition) ?? `select ${runColumns} from ${runFrom} where r.id = ? and r.deleted_at is null and ${condition}`;
  runTexts.set(condition, known);
  return known;
}

/** Returns a run in the tenant of the transaction, or null when it does not exist there. */
export function readRunRow(tx: Pick<TenantTransaction, 'em' | 'tenant'>, runId: string): Promise<RunRow | null> {
  const own = tenantPredicate(tx.tenant, 'r');
  return row<RunRow>(tx.em, runWhere(own.sql), [runId, ...own.params]);
}

/** Returns a run that the caller may see. Throws 404, or 403 below the floor in its workspace. */
export async function seeRun(ctx: Scoped, runId: string): Promise<RunRow> {
  const visible = visibleToSql(ctx, Run, 'r');
  return seen(ctx, await row<RunRow>(ctx.em, runWhere(visible.sql), [runId, ...visible.params]));
}

/** The row scope of a run. */
export interface RunScope {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
}

/** Checks that the caller may see the run whose messages or steps it reads. Throws 404 unless the caller sees the run, 403 below the floor in its workspace. */
export async function requireRun(ctx: Scoped, runId: string): Promise<RunScope> {
  const visible = visibleToSql(ctx, Run, 'r');
  const found = await row<RunScope>(
    ctx.em,
    `select r.id, r.organization_id, r.workspace_id from runs r where r.id = ? and r.deleted_at is null and ${visible.sql}`,
    [runId, ...visible.params],
  );
  return seen(ctx, found);
}

export interface RunFilters {
  readonly agent_id?: string;
  readonly status?: RunStatus;
  readonly waiting_on?: WaitingOn;
  readonly session_key?: string;
  readonly subject_id?: string;
  readonly trigger_id?: string;
  readonly parent_run_id?: string;
  readonly evaluation_run_id?: string;
  readonly binding_id?: string;
  readonly from?: string;
  readonly to?: string;
}

const equalFilters = [
  'agent_id',
  'status',
  'waiting_on',
  'session_key',
  'subject_id',
  'trigger_id',
  'parent_run_id',
  'evaluation_run_id',
  'binding_id',
] as const;

/** Lists runs that the caller may see, newest first, with truncated texts. Ids of other tenants match nothing. */
export function listRunRows(ctx: Scoped, filters: RunFilters, page: PageRequest): Promise<Page<RunRow>> {
  const visible = visibleTo(ctx, Run, 'r');
  const where = ['r.deleted_at is null', visible.sql];
  const params: unknown[] = [...visible.params];
  for (const name of equalFilters) {
    if (filters[name] === undefined) continue;
    where.push(`r.${name} = ?`);
    params.push(filters[name]);
  }
  if (filters.from !== undefined) {
    where.push('r.created_at >= ?::timestamptz');
    params.push(filters.from);
  }
  if (filters.to !== undefined) {
    where.push('r.created_at < ?::timestamptz');
    params.push(filters.to);
  }
  return fetchPage<RunRow>(ctx.em, {
    select: runListColumns,
    from: runFrom,
    where: where.join(' and '),
    params,
    order: [{ column: 'r.id', type: 'uuid', descending: true }],
    page,
  });
}
