import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Selectable, sql } from 'kysely';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Select list of a `PurgeRow`. */
export const purgeColumns = ['id', 'organizationId', 'status', 'step', 'counts', 'startedAt', 'finishedAt', 'createdAt'] as const;

/** A purge as views show it. */
export type PurgeRow = Pick<Selectable<Tables['purges']>, (typeof purgeColumns)[number]>;

/** Whether a purge of the organization has begun or is about to: it cannot be undone. */
export async function isPurged(tx: TenantTransaction, organizationId: string): Promise<boolean> {
  const purge = query.selectFrom('purges').select('id').where('organizationId', '=', organizationId).limit(1);
  return (await row(tx.em, purge)) !== null;
}

/** Organizations whose grace period is over and whose purge has not been requested. */
function selectDue() {
  return query
    .selectFrom('organizations as o')
    .select('o.id')
    .where('o.status', '=', 'deleting')
    .where('o.deleteAfter', '<=', sql<string>`now()`)
    .where('o.purgedAt', 'is', null)
    .where(({ exists, not, selectFrom }) =>
      not(exists(selectFrom('purges as p').select(sql.lit(1).as('one')).whereRef('p.organizationId', '=', 'o.id'))),
    );
}

/** Returns organizations whose grace period is over and whose purge has not been requested. Sweeper's pool. */
export async function duePurges(em: SqlEntityManager, limit: number): Promise<string[]> {
  const found = await row(
    em,
    query
      .selectFrom(selectDue().orderBy('o.deleteAfter').limit(limit).as('due'))
      .select(sql<string[]>`coalesce(json_agg(due.id), '[]')`.as('ids')),
  );
  return found?.ids ?? [];
}

/** Locks a due organization; returns false when it was resumed or its purge was requested meanwhile. */
export async function lockDue(em: SqlEntityManager, organizationId: string): Promise<boolean> {
  return (await row(em, selectDue().where('o.id', '=', organizationId).forNoKeyUpdate())) !== null;
}
