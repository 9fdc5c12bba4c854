import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { amongRows } from '../expressions.ts';
import { change } from '../sql.ts';

/** Maximum number of rows per statement. */
export const rowsAStatement = 1_000;
/** Days that bodies are retained where an organization has no setting of its own (`delivery_retention_days`). */
const defaultBodyDays = 30;
const deliveryDays = 90;

/** Empties bodies past their days, with headers and query; returns the number of deliveries. Sweeper's pool. */
export function eraseBodies(em: SqlEntityManager): Promise<number> {
  const past = query
    .selectFrom('webhook_deliveries as x')
    .leftJoin('organization_settings as s', 's.organizationId', 'x.organizationId')
    .where('x.body', 'is not', null)
    .where('x.status', '<>', 'coalescing')
    .where(
      'x.receivedAt',
      '<',
      sql<string>`now() - make_interval(days => coalesce(s.delivery_retention_days, ${sql.lit(defaultBodyDays)}))`,
    )
    .limit(rowsAStatement);
  return change(em, query.updateTable('webhook_deliveries').set({ body: null, headers: {}, query: {} }).where(amongRows(past)));
}

/** Deletes deliveries older than 90 days; returns how many. Sweeper's pool. */
export function eraseDeliveriesByAge(em: SqlEntityManager): Promise<number> {
  const old = query
    .selectFrom('webhook_deliveries as x')
    .where('x.receivedAt', '<', sql<string>`now() - make_interval(days => ${sql.lit(deliveryDays)})`)
    .limit(rowsAStatement);
  return change(em, query.deleteFrom('webhook_deliveries').where(amongRows(old)));
}

/** Deletes digests past their 24 hours; returns how many. Sweeper's pool. */
export function eraseDigests(em: SqlEntityManager): Promise<number> {
  const old = query
    .selectFrom('delivery_keys as x')
    .where('x.expiresAt', '<', sql<string>`now()`)
    .limit(rowsAStatement);
  return change(em, query.deleteFrom('delivery_keys').where(amongRows(old)));
}
