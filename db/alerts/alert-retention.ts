import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type SqlBool } from 'kysely';
import type { Databases } from '../databases.ts';
import { query } from '../query.ts';
import { change } from '../sql.ts';
import { sweep } from '../transaction.ts';

const rowsAStatement = 5_000;
const alertsAStatement = 500;
/** Kept where no organization says otherwise (its setting is `delivery_retention_days`). */
const defaultDays = 30;
/** An alert is kept so long after it was resolved, with its changes. */
const alertDays = 400;

/** What went by age. */
export interface ErasedNotices {
  readonly deliveries: number;
  readonly alerts: number;
}

/**
 * Deletes notices of alerts past the `delivery_retention_days` of their organization that were sent or given up, and alerts that were resolved 400 days ago.
 * Those under way and alerts that are open stay. Batches, each a transaction of its own: whoever is killed goes on at the next time.
 */
export async function eraseOldNotices(db: Databases, signal: AbortSignal): Promise<ErasedNotices> {
  return {
    deliveries: await inBatches(db, { signal, size: rowsAStatement, erase: eraseDeliveries }),
    alerts: await inBatches(db, { signal, size: alertsAStatement, erase: eraseAlerts }),
  };
}

interface Batches {
  readonly signal: AbortSignal;
  readonly size: number;
  readonly erase: (em: SqlEntityManager) => Promise<number>;
}

async function inBatches(db: Databases, { signal, size, erase }: Batches): Promise<number> {
  let total = 0;
  for (let count = size; count === size; total += count) {
    signal.throwIfAborted();
    count = await sweep(db, erase);
  }
  return total;
}

function eraseDeliveries(em: SqlEntityManager): Promise<number> {
  const due = query
    .selectFrom('alert_deliveries as d')
    .leftJoin('organization_settings as s', 's.organizationId', 'd.organizationId')
    .select('d.id')
    .where('d.status', 'in', ['sent', 'dead'])
    .where(sql<SqlBool>`d.created_at < now() - make_interval(days => coalesce(s.delivery_retention_days, ${sql.lit(defaultDays)}))`)
    .orderBy('d.createdAt')
    .limit(rowsAStatement);
  return change(em, query.deleteFrom('alert_deliveries').where('id', 'in', due));
}

/** With what hangs on them; keys between the tables are checked at the end of the statement. */
function eraseAlerts(em: SqlEntityManager): Promise<number> {
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
