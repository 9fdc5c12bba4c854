import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change } from '../sql.ts';

/** Maximum number of rows per statement. */
export const rowsAStatement = 1_000;
/** Days that bodies are retained where an organization has no setting of its own (`delivery_retention_days`). */
const defaultBodyDays = 30;
const deliveryDays = 90;

const some = (table: string, where: string) =>
  `${table}.ctid = any (array(select x.ctid from ${table} x ${where} limit ${rowsAStatement}))`;

/** Empties bodies past their days, with headers and query; returns the number of deliveries. Sweeper's pool. */
export function eraseBodies(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    `update webhook_deliveries set body = null, headers = '{}', query = '{}' where ${some(
      'webhook_deliveries',
      `left join organization_settings s on s.organization_id = x.organization_id
        where x.body is not null and x.status <> 'coalescing' and x.received_at < now() - make_interval(days => coalesce(s.delivery_retention_days, ${defaultBodyDays}))`,
    )}`,
  );
}

/** Deletes deliveries older than 90 days; returns how many. Sweeper's pool. */
export function eraseDeliveriesByAge(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    `delete from webhook_deliveries where ${some('webhook_deliveries', `where x.received_at < now() - make_interval(days => ${deliveryDays})`)}`,
  );
}

/** Deletes digests past their 24 hours; returns how many. Sweeper's pool. */
export function eraseDigests(em: SqlEntityManager): Promise<number> {
  return change(em, `delete from delivery_keys where ${some('delivery_keys', 'where x.expires_at < now()')}`);
}
