import { type Expression, type RawBuilder, type SelectQueryBuilder, sql, type SqlBool } from 'kysely';

// Expressions that queries of many areas contain.

/** When the transaction began. */
export const now = sql<string>`now()`;

/** The time at which the statement runs. */
export const clockTime = sql<string>`clock_timestamp()`;

/** One of these ids: `.where('r.id', '=', anyId(ids))`. One parameter, however many there are. */
export function anyId(ids: Expression<readonly string[]> | readonly string[]): RawBuilder<string> {
  return sql<string>`any(${ids}::uuid[])`;
}

/** Values as part of the text: PostgreSQL uses a partial index only where the plan shows the value that its condition names. */
export function literals<const V extends string>(...values: readonly V[]): RawBuilder<V>[] {
  return values.map((value) => sql.lit(value));
}

/** Milliseconds from a time until the statement runs. A column of integers rounds them. */
export function msSince(time: Expression<Date | string | null | undefined>): RawBuilder<number> {
  return sql<number>`extract(epoch from clock_timestamp() - ${time}) * 1000`;
}

/** Returns `any (array(select …))`: compared with a column, it finds the rows by an index after it has selected them all, in the order of the subquery. */
export function anyOf<O>(subquery: Expression<O>): RawBuilder<O[keyof O]> {
  return sql<O[keyof O]>`any (array${subquery})`;
}

/** One value as part of the text of a query (see `literals`), with its own type. */
export function literal<const V extends string | number | null>(value: V): RawBuilder<V> {
  return sql.lit(value);
}

/**
 * Returns a condition for the rows that a query finds, for statements that delete or change a bounded number of rows of one table. The query selects nothing
 * yet, and calls that table `x`.
 */
export function amongRows<DB, TB extends keyof DB>(found: SelectQueryBuilder<DB, TB, object>) {
  return sql<SqlBool>`ctid = any (array${found.select(sql`x.ctid`.as('ctid'))})`;
}
