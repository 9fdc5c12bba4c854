import { type AliasedRawBuilder, type Expression, type RawBuilder, sql } from 'kysely';
import { recordset as recordsetOf, type ColumnTypes } from './recordset.ts';

declare const written: unique symbol;

/** JSON whose value has the type `T`: prepared queries take JSON as text. */
export type JsonText<T> = string & { readonly [written]: T };

/** Writes a value as JSON. */
export function jsonText<T>(value: T): JsonText<T> {
  return JSON.stringify(value) as JsonText<T>; // `written` exists for the compiler alone
}

/** The value of a parameter that holds JSON, as jsonb. */
export function jsonb<J extends JsonText<unknown> | null>(text: Expression<J>): RawBuilder<ValueOf<J>> {
  return sql<ValueOf<J>>`${text}::jsonb`;
}

type ValueOf<J> = J extends JsonText<infer T> ? T : J;

/**
 * The objects of a JSON array as rows of a table: their fields are its columns, by the same names (one word, or snake case).
 */
export function recordset<R extends object, N extends string>(
  list: Expression<JsonText<readonly R[]>>,
  name: N,
  columns: ColumnTypes<R>,
): AliasedRawBuilder<R, N> {
  return recordsetOf<R>(list, columns).as(name);
}

/** A value of jsonb where JSON's null, which a `recordset` keeps, is the database's. */
export function nullIfJsonNull<T>(value: Expression<T>): RawBuilder<T> {
  return sql<T>`nullif(${value}, 'null'::jsonb)`;
}
