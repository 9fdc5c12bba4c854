import { sql, type SelectQueryBuilder, type SqlBool } from 'kysely';

/**
 * Returns a condition for the rows that a query finds, for statements that delete or change a bounded number of rows of one table. The query selects nothing
 * yet, and calls that table `x`.
 */
export function amongRows<DB, TB extends keyof DB>(found: SelectQueryBuilder<DB, TB, object>) {
  return sql<SqlBool>`ctid = any (array${found.select(sql`x.ctid`.as('ctid'))})`;
}
