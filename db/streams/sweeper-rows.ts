import { CompiledQuery } from 'kysely';
import type { Databases } from '../databases.ts';

/**
 * Runs one statement (`$1`, `$2` …) on the sweeper's pool, across tenants, without a transaction or settings around it, so it costs one round trip. Only
 * for the hub's shared reads: heads, archive pages, the check of open streams.
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
