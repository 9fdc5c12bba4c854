import { tenantPredicate } from '../scope.ts';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { LiveRunStatus } from '../../workflows/contracts/runs/runs.ts';
import { idsBehind, type PurgedScope } from './purge-tables.ts';

export const stopReasons = ['organization_suspended', 'organization_deleting', 'workspace_archived'] as const;
/** Why an organization or workspace takes no more work. */
export type StopReason = (typeof stopReasons)[number];

/** Returns why the tenant of a transaction is stopped, or null while it works. A workspace is stopped together with its organization. */
export async function readStop(
  tx: TenantTransaction,
  place: { readonly organizationId: string; readonly workspaceId: string | null },
): Promise<StopReason | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('organizations as o')
      .leftJoin('workspaces as w', (join) =>
        join.on('w.id', '=', sql<string>`${place.workspaceId}::uuid`).onRef('w.organizationId', '=', 'o.id'),
      )
      .select(['o.status', 'w.isActive'])
      .where('o.id', '=', place.organizationId),
  );
  return found && stopReason(found.status, found.isActive ?? true);
}

/** In the text, so that the partial index of live runs serves. */
const stoppable = (['queued', 'running', 'waiting'] as const).map((status) => sql.lit<LiveRunStatus>(status));
const cancelling = sql.lit<LiveRunStatus>('cancelling');

/** Returns live runs visible to the transaction that are not being cancelled yet: queued ones first, so that no queue advances for nothing. */
export async function runsToStop(tx: TenantTransaction, limit: number): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('runs as r')
      .select('r.id')
      .where('r.status', 'in', stoppable)
      .where(tenantPredicate(tx.tenant, 'r'))
      .orderBy(({ eb }) => eb('r.activatedAt', 'is not', null))
      .orderBy('r.id', 'desc')
      .limit(limit),
  );
  return found.map((run) => run.id);
}

/** Returns how many runs visible to the transaction have not ended. */
export async function countLiveRuns(tx: TenantTransaction): Promise<number> {
  const found = await row(
    tx.em,
    query
      .selectFrom('runs as r')
      .select(sql<number>`count(*)::int`.as('live'))
      .where('r.status', 'in', [...stoppable, cancelling])
      .where(tenantPredicate(tx.tenant, 'r')),
  );
  return found?.live ?? 0;
}

function stopReason(status: string, isActive: boolean): StopReason | null {
  if (status === 'suspended') return 'organization_suspended';
  if (status === 'deleting') return 'organization_deleting';
  return isActive ? null : 'workspace_archived';
}

/** Returns a run whose organization or workspace is stopped, with the reason; null when neither is stopped. */
export async function readStopOfRun(tx: TenantTransaction, runId: string) {
  const found = await row(
    tx.em,
    query
      .selectFrom('runs as r')
      .innerJoin('workspaces as w', 'w.id', 'r.workspaceId')
      .innerJoin('organizations as o', 'o.id', 'r.organizationId')
      .select(['o.status', 'w.isActive', 'r.status as runStatus', 'r.organizationId', 'r.workspaceId'])
      .where('r.id', '=', runId)
      .where(({ eb, not, or }) => or([eb('o.status', '<>', 'active'), not(eb.ref('w.isActive'))])),
  );
  if (!found) return null;
  const { status, isActive, ...run } = found;
  const reason = stopReason(status, isActive);
  return reason && { reason, ...run };
}

/** Returns up to 500 runs of an organization or workspace after a position, by their ids. */
export async function runsOfPlace(em: SqlEntityManager, place: PurgedScope, after: string | null): Promise<string[]> {
  return idsBehind(em, { table: 'runs', place, after });
}
