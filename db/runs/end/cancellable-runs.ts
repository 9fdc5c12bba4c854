import { visibleToSql, tenantPredicate, visibleTo, type Changing, type Predicate, type Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { Run } from '../run.entity.ts';
import type { CancelPolicy } from '../read/run-view.ts';

/** Selects live runs; every given field must match. */
export interface CancelFilter {
  readonly agent_id?: string;
  readonly session_key?: string;
  readonly trigger_id?: string;
  readonly evaluation_run_id?: string;
}

/** A run and its row scope. */
export interface RunAddress {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
}

/** Returns those of the runs that the caller sees. */
export function seenRuns(ctx: Scoped, ids: readonly string[]): Promise<RunAddress[]> {
  const visible = visibleToSql(ctx, Run, 'r');
  return rows<RunAddress>(
    ctx.em,
    `select r.id, r.organization_id, r.workspace_id from runs r where r.id = any (?::uuid[]) and r.deleted_at is null and ${visible.sql}`,
    [[...ids], ...visible.params],
  );
}

/** The first matching runs, and how many match in total. */
export interface Matches {
  readonly runs: readonly RunAddress[];
  readonly matched: number;
}

/**
 * Returns matching live runs that the caller may cancel: where its role meets the operation's floor and the workspace takes work. Queued runs come first,
 * so that the queue does not advance for nothing. Ids of other tenants match nothing.
 */
export async function matchingRuns(ctx: Changing, filter: CancelFilter, limit: number): Promise<Matches> {
  const mine = cancellable(ctx);
  const wanted = filterSql(filter);
  const found = await rows<RunAddress & { matched: number }>(
    ctx.em,
    `select r.id, r.organization_id, r.workspace_id, (count(*) over ())::int as matched from ${openRuns} where ${wanted.sql} and ${mine.sql}
      order by r.activated_at is not null, r.id desc limit ?`,
    [...wanted.params, ...mine.params, limit],
  );
  return { runs: found, matched: found[0]?.matched ?? 0 };
}

/** A bulk cancel's row. */
export interface OpenBulkCancel {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly filter: CancelFilter;
  readonly policy: CancelPolicy;
  readonly reason: string | null;
  readonly cancelled: number;
  readonly created_at: string;
}

/** Locks a bulk cancel that is not finished; returns null when it is finished or does not exist. */
export function lockBulkCancel(tx: TenantTransaction, cancelId: string): Promise<OpenBulkCancel | null> {
  const own = tenantPredicate(tx.tenant, 'b');
  return row<OpenBulkCancel>(
    tx.em,
    `select b.id, b.organization_id, b.workspace_id, b.filter, b.policy, b.reason, b.cancelled, b.created_at from bulk_cancels b
      where b.id = ? and b.finished_at is null and ${own.sql} for no key update`,
    [cancelId, ...own.params],
  );
}

const openRuns = `runs r join workspaces w on w.id = r.workspace_id and w.is_active join organizations o on o.id = w.organization_id and o.status = 'active'`;

/** Live runs that are not being cancelled yet, where the caller may cancel. */
function cancellable(ctx: Changing): Predicate {
  const visible = visibleTo(ctx, Run, 'r');
  const live = `r.deleted_at is null and r.status in ('queued', 'running', 'waiting')`;
  return { sql: `${live} and ${visible.sql}`, params: visible.params };
}

const filterNames = ['agent_id', 'session_key', 'trigger_id', 'evaluation_run_id'] as const;

function filterSql(filter: CancelFilter): Predicate {
  const given = filterNames.filter((name) => filter[name] !== undefined);
  // An empty filter selects no runs, never all of them.
  if (given.length === 0) return { sql: 'false', params: [] };
  return { sql: given.map((name) => `r.${name} = ?`).join(' and '), params: given.map((name) => filter[name]) };
}

/** A workspace in which the caller may cancel matching runs; runs created after `asked_at` are not included. */
export interface MatchWorkspace {
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly asked_at: string;
}

/** Returns the workspaces of matching live runs that the caller may cancel. */
export function workspacesOfMatches(ctx: Changing, filter: CancelFilter): Promise<MatchWorkspace[]> {
  const mine = cancellable(ctx);
  const wanted = filterSql(filter);
  // A run's time comes from the process that created it, whose clock may be ahead.
  return rows<MatchWorkspace>(
    ctx.em,
    `select r.organization_id, r.workspace_id, greatest(now(), max(r.created_at))::text as asked_at from ${openRuns} where ${wanted.sql} and ${mine.sql} group by 1, 2`,
    [...wanted.params, ...mine.params],
  );
}

/** Returns live runs that a bulk cancel covers, at most `limit`. */
export async function matchesOf(tx: TenantTransaction, bulk: OpenBulkCancel, limit: number): Promise<string[]> {
  const wanted = filterSql(bulk.filter);
  const found = await rows<{ id: string }>(
    tx.em,
    `select r.id from runs r where r.workspace_id = ? and r.deleted_at is null and r.status in ('queued', 'running', 'waiting') and ${wanted.sql}
        and r.created_at <= ?::timestamptz order by r.activated_at is not null, r.id desc limit ?`,
    [bulk.workspace_id, ...wanted.params, bulk.created_at, limit],
  );
  return found.map((run) => run.id);
}
