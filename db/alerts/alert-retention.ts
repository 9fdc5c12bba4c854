import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type SqlBool } from 'kysely';
import { query } from '../query.ts';
import { change } from '../sql.ts';

/** Maximum number of rows per statement. */
export const deliveriesAStatement = 5_000;
/** Retention where an organization has no setting of its own (`delivery_retention_days`). */
const defaultDays = 30;

/** Deletes sent or dead notices past their days, oldest first; returns how many. */
export function eraseDeliveries(em: SqlEntityManager): Promise<number> {
  const due = query
    .selectFrom('alert_deliveries as d')
    .leftJoin('organization_settings as s', 's.organizationId', 'd.organizationId')
    .select('d.id')
    .where('d.status', 'in', ['sent', 'dead'])
    .where(sql<SqlBool>`d.created_at < now() - make_interval(days => coalesce(s.delivery_retention_days, ${sql.lit(defaultDays)}))`)
    .orderBy('d.createdAt')
    .limit(deliveriesAStatement);
  return change(em, query.deleteFrom('alert_deliveries').where('id', 'in', due));
}
