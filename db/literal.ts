import { type RawBuilder, sql } from 'kysely';

/** One value as part of the text of a query (see `literals`), with its own type. */
export function literal<const V extends string | number | null>(value: V): RawBuilder<V> {
  return sql.lit(value);
}

/** These columns with the value null: a prepared insert names every nullable column, since an entity's would be null too. */
export function nulls<const N extends string>(...columns: readonly N[]): Readonly<Record<N, RawBuilder<null>>> {
  return Object.fromEntries(columns.map((column) => [column, sql.lit(null)])) as Record<N, RawBuilder<null>>; // one entry for each
}
