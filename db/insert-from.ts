import {
  type Expression,
  expressionBuilder,
  type ExpressionBuilder,
  type Insertable,
  type InsertQueryBuilder,
  type InsertResult,
  type SelectQueryBuilder,
  sql,
} from 'kysely';
import { query } from './query.ts';
import type { Tables } from './table-types.ts';

/** The values of a row that is inserted, as expressions by column. */
type Values<T extends keyof Tables> = {
  readonly [C in keyof Insertable<Tables[T]>]: Expression<Insertable<Tables[T]>[C]>;
};

/**
 * `insert into … select`: inserts a row for each row of `source`, a query that has its tables and conditions but selects nothing yet. `valuesOf` gives the
 * value of each column. Columns that it leaves out get the database's default, not a value of their entity's hooks.
 */
export function insertFrom<T extends keyof Tables & string, DB, TB extends keyof DB>(
  table: T,
  source: SelectQueryBuilder<DB, TB, object>,
  valuesOf: (eb: ExpressionBuilder<DB, TB>) => Values<T>,
): InsertQueryBuilder<Tables, T, InsertResult> {
  const values = Object.entries<Expression<unknown>>(valuesOf(expressionBuilder<DB, TB>()));
  return query
    .insertInto(table)
    .columns(values.map(([column]) => column as keyof Tables[T] & string)) // the keys of `Values`
    .expression(source.select(values.map(([column, value]) => sql`${value}`.as(column))));
}
