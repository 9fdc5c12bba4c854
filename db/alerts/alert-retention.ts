import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type SqlBool } from 'kysely';
import { query } from '../query.ts';
import { change } from '../sql.ts';

/** So many a statement takes at most. */
export const deliveriesAStatement = 5_000;
export const alertsAStatement = 500;
/** Kept where no organization says otherwise (its setting is `delivery_retention_days`). */
const defaultDays = 30;
/** An alert is kept so long after it was resolved, with its changes. */
const alertDays = 400;

/** Deletes notices past their days that were sent or given up, the oldest first; gives how many. */
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

/** Deletes alerts past their days with what hangs on them: keys between the tables are checked at the end of the statement. Gives how many alerts. */
export function eraseAlerts(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    query
      .with('due', (with_) =>
        with_
          .selectFrom('alerts as a')
          .select('a.id')
          .where(sql<SqlBool>`a.resolved_at < now() - make_interval(days => ${sql.lit(alertDays)})`)
          .orderBy('a.resolvedAt')
          .limit(alertsAStatement),
      )
      .with('transitionsGone', (with_) =>
        with_.deleteFrom('alert_transitions').where('alertId', 'in', with_.selectFrom('due').select('id')).returning('id'),
      )
      .with('deliveriesGone', (with_) =>
        with_.deleteFrom('alert_deliveries').where('alertId', 'in', with_.selectFrom('due').select('id')).returning('id'),
      )
      .deleteFrom('alerts')
      .where('id', 'in', (eb) => eb.selectFrom('due').select('id')),
  );
}
