import { tenantPredicate } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { idsBehind, type PurgedScope } from './purge-tables.ts';

export const stopReasons = ['organization_suspended', 'organization_deleting', 'workspace_archived'] as const;
/** Why an organization or workspace takes no more work. */
export type StopReason = (typeof stopReasons)[number];

/** Condition under which the workspace `w` of organization `o` takes no more work. */
const frozen = "(o.status <> 'active' or not w.is_active)";

/** Returns why the tenant of a transaction is stopped, or null while it works. A workspace is stopped together with its organization. */
export async function readStop(
  tx: TenantTransaction,
  place: { readonly organizationId: string; readonly workspaceId: string | null },
): Promise<StopReason | null> {
  const found = await row<{ status: string; is_active: boolean | null }>(
    tx.em,
    'select o.status, w.is_active from organizations o left join workspaces w on w.id = ?::uuid and w.organization_id = o.id where o.id = ?::uuid',
    [place.workspaceId, place.organizationId],
  );
  return found && stopReason(found.status, found.is_active ?? true);
}

/** Returns live runs visible to the transaction that are not being cancelled yet: queued ones first, so that no queue advances for nothing. */
export async function runsToStop(tx: TenantTransaction, limit: number): Promise<string[]> {
  const own = tenantPredicate(tx.tenant, 'r');
  const found = await rows<{ id: string }>(
    tx.em,
    `select r.id from runs r where r.status in ('queued', 'running', 'waiting') and ${own.sql}
      order by r.activated_at is not null, r.id desc limit ?`,
    [...own.params, limit],
  );
  return found.map((run) => run.id);
}

/** Returns how many runs visible to the transaction have not ended. */
export async function countLiveRuns(tx: TenantTransaction): Promise<number> {
  const own = tenantPredicate(tx.tenant, 'r');
  const found = await row<{ live: number }>(
    tx.em,
    `select count(*)::int as live from runs r where r.status in ('queued', 'running', 'waiting', 'cancelling') and ${own.sql}`,
    own.params,
  );
  return found?.live ?? 0;
}

function stopReason(status: string, isActive: boolean): StopReason | null {
  if (status === 'suspended') return 'organization_suspended';
  if (status === 'deleting') return 'organization_deleting';
  return isActive ? null : 'workspace_archived';
}

/** A run whose organization or workspace is stopped. */
export interface StoppedRun {
  readonly reason: StopReason;
  readonly runStatus: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Returns a run whose organization or workspace is stopped, with the reason; null when neither is stopped. */
export async function readStopOfRun(tx: TenantTransaction, runId: string): Promise<StoppedRun | null> {
  const found = await row<{ status: string; run_status: string; is_active: boolean; organization_id: string; workspace_id: string }>(
    tx.em,
    `select o.status, w.is_active, r.status as run_status, r.organization_id, r.workspace_id
       from runs r join workspaces w on w.id = r.workspace_id join organizations o on o.id = r.organization_id
      where r.id = ? and ${frozen}`,
    [runId],
  );
  const reason = found && stopReason(found.status, found.is_active);
  return found === null || reason === null
    ? null
    : { reason, runStatus: found.run_status, organizationId: found.organization_id, workspaceId: found.workspace_id };
}

/** Returns up to 500 runs of an organization or workspace after a position, by their ids. */
export async function runsOfPlace(em: SqlEntityManager, place: PurgedScope, after: string | null): Promise<string[]> {
  return idsBehind(em, { table: 'runs', place, after });
}
