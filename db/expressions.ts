import { type Expression, type RawBuilder, sql } from 'kysely';

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
