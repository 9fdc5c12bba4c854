import { CompiledQuery } from 'kysely';
import type { Databases } from '../databases.ts';

/**
 * One statement (`$1`, `$2` …) by itself on the sweeper's pool, across tenants: no transaction and no settings around it, so one round trip.
 * For the hub's shared reads only: heads, archive pages, the check of open streams.
 */
export async function sweeperRows<T>(db: Databases, sql: string, params: readonly unknown[]): Promise<T[]> {
  db.sweeper.config.get('onQuery')(sql, params);
  const result = await db.sweeper.em
    .getConnection()
    .getClient()
    .executeQuery(CompiledQuery.raw(sql, [...params]));
  // The rows have the shape that the statement selects; only its author can know it.
  return result.rows as T[];
}
