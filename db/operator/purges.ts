import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { purgeStatuses } from './purge.entity.ts';

/** A purge as views show it. */
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

export const columns = 'id, organization_id, status, step, counts, started_at, finished_at, created_at';

/** Whether a purge of the organization has begun or is about to: it cannot be undone. */
export async function isPurged(tx: TenantTransaction, organizationId: string): Promise<boolean> {
  return (await row(tx.em, 'select id from purges where organization_id = ? limit 1', [organizationId])) !== null;
}

/** Returns organizations whose grace period is over and whose purge has not been requested. Sweeper's pool. */
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

/** Locks a due organization; returns false when it was resumed or its purge was requested meanwhile. */
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
