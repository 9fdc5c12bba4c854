import { type Expression, type RawBuilder, sql } from 'kysely';

/** Returns `any (array(select …))`: compared with a column, it finds the rows by an index after it has selected them all, in the order of the subquery. */
export function anyOf<O>(subquery: Expression<O>): RawBuilder<O[keyof O]> {
  return sql<O[keyof O]>`any (array${subquery})`;
}
