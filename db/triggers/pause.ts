import { sql } from 'kysely';
import { now } from '../expressions.ts';
import { query } from '../query.ts';
import { tenantPredicate } from '../scope.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A schedule whose row now has another version. */
export type MovedSchedule = Awaited<ReturnType<typeof storePauseOfAgent>>[number];

const returned = ['id', 'organizationId', 'workspaceId', 'version'] as const;

function paused(reason: string) {
  return query
    .updateTable('schedules')
    .set(({ eb }) => ({ isActive: false, pauseReason: reason, syncState: 'pending', version: eb('version', '+', 1), updatedAt: now }))
    .where('isActive', '=', sql.lit(true))
    .where('deletedAt', 'is', null)
    .returning(returned);
}

/** Pauses the schedules of an agent that is deleted; returns them. */
export function storePauseOfAgent(tx: TenantTransaction, agentId: string) {
  return rows(tx.em, paused('agent_deleted').where('agentId', '=', agentId));
}

/** Pauses the schedules in a transaction's tenant; returns them. */
export function storePauseOfPlace(tx: TenantTransaction, reason: string): Promise<MovedSchedule[]> {
  return rows(tx.em, paused(reason).where(tenantPredicate(tx.tenant, 'schedules')));
}

/** Resumes, from now on, schedules that were paused for one of the reasons, where their organization and workspace are active; returns them. */
export function storeResumeOfPlace(tx: TenantTransaction, reasons: readonly string[]): Promise<MovedSchedule[]> {
  const resumed = {
    isActive: true,
    pauseReason: null,
    evaluatedUntil: now,
    firesAfter: now,
    syncState: 'pending',
    updatedAt: now,
  } as const;
  return rows(
    tx.em,
    query
      .updateTable('schedules')
      .set(({ eb }) => ({ ...resumed, version: eb('version', '+', 1) }))
      .where('isActive', '=', sql.lit(false))
      .where('deletedAt', 'is', null)
      .where('pauseReason', '=', sql<string>`any (${[...reasons]}::text[])`)
      .where(tenantPredicate(tx.tenant, 'schedules'))
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('workspaces as w')
            .innerJoin('organizations as o', 'o.id', 'w.organizationId')
            .whereRef('w.id', '=', 'schedules.workspaceId')
            .where('w.isActive', '=', sql.lit(true))
            .where('o.status', '=', 'active')
            .select('w.id'),
        ),
      )
      .returning(returned),
  );
}
