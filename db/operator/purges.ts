import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../ids.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { purgeStatuses } from './purge.entity.ts';
import { startPurge } from './stops.ts';

/** A purge as views show one. */
export interface PurgeRow {
  readonly id: string;
  readonly organization_id: string;
  readonly status: (typeof purgeStatuses)[number];
  readonly step: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly started_at: Date | string | null;
  readonly finished_at: Date | string | null;
  readonly created_at: Date | string;
}

const columns = 'id, organization_id, status, step, counts, started_at, finished_at, created_at';

/** Who asked for a purge, and why. Null: it was due by time. */
export interface PurgeCause {
  readonly reason: string | null;
  readonly requestedByUserId: string | null;
}

/**
 * Asks for the purge of a locked, deleting organization: the one that is queued or at work, the failed one anew, or a new one. Its workflow is
 * told after the commit.
 */
export async function requestPurge(tx: TenantTransaction, organizationId: string, cause: PurgeCause): Promise<PurgeRow> {
  const known = await row<PurgeRow>(
    tx.em,
    `update purges set status = case status when 'failed' then 'queued' else status end, last_error = null, finished_at = null, updated_at = clock_timestamp(),
            version = version + 1
      where id = (select id from purges where organization_id = ? and status <> 'succeeded' order by id desc limit 1) returning ${columns}`,
    [organizationId],
  );
  const purge =
    known ??
    (await row<PurgeRow>(
      tx.em,
      `insert into purges (id, organization_id, reason, requested_by_user_id) values (?, ?, ?, ?) returning ${columns}`,
      [newId(), organizationId, cause.reason, cause.requestedByUserId],
    ));

  if (!purge) throw new Error('a purge was not made');
  await startPurge(tx, organizationId);
  return purge;
}

/** Whether a purge of the organization has begun or is about to: there is no way back. */
export async function isPurged(tx: TenantTransaction, organizationId: string): Promise<boolean> {
  return (await row(tx.em, 'select id from purges where organization_id = ? limit 1', [organizationId])) !== null;
}

/** Organizations whose grace is over and whose purge nobody has asked for. Sweeper's pool. */
export async function duePurges(em: SqlEntityManager, limit: number): Promise<string[]> {
  const found = await row<{ ids: string[] }>(
    em,
    `select coalesce(json_agg(due.id), '[]') as ids from (
       select o.id from organizations o
        where o.status = 'deleting' and o.delete_after <= now() and o.purged_at is null
          and not exists (select from purges p where p.organization_id = o.id)
        order by o.delete_after limit ?) due`,
    [limit],
  );
  return found?.ids ?? [];
}

/** Locks an organization that is due; false when it was resumed or asked for meanwhile. */
export async function lockDue(em: SqlEntityManager, organizationId: string): Promise<boolean> {
  const locked = await row(
    em,
    `select o.id from organizations o
      where o.id = ? and o.status = 'deleting' and o.delete_after <= now() and o.purged_at is null
        and not exists (select from purges p where p.organization_id = o.id)
      for no key update`,
    [organizationId],
  );
  return locked !== null;
}

/** Notes where a purge stands. */
export async function noteStep(em: SqlEntityManager, organizationId: string, step: string): Promise<void> {
  await change(
    em,
    "update purges set step = ?, updated_at = clock_timestamp() where organization_id = ? and status = 'running' and step is distinct from ?",
    [step, organizationId, step],
  );
}
