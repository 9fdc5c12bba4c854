import { CompiledQuery } from 'kysely';
import type { Databases } from '../databases.ts';
import type { Query } from '../query.ts';

/**
 * Runs one query on the sweeper's pool, across tenants, without a transaction or settings around it, so it costs one round trip. Only for the hub's shared
 * reads: heads, archive pages, the check of open streams.
 */
export async function sweeperRows<O>({ sweeper }: Pick<Databases, 'sweeper'>, query: Query<O>): Promise<O[]> {
  const { sql, parameters } = query.toStatement(sweeper.em);
  sweeper.config.get('onQuery')(sql, parameters);
  const result = await sweeper.em
    .getConnection()
    .getClient()
    .executeQuery(CompiledQuery.raw(sql, [...parameters]));
  // The rows have the shape that the query selects.
  return result.rows as O[];
}
