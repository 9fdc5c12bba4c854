import { type AliasedRawBuilder, type Expression, sql } from 'kysely';

type ColumnType = 'uuid' | 'text' | 'text[]' | 'smallint' | 'int' | 'bigint' | 'numeric' | 'boolean' | 'jsonb' | 'timestamptz';
/** The type of each column of a `recordset` in the database. */
export type ColumnTypes<R> = { readonly [C in keyof R]-?: ColumnType };
type Named<R> = { readonly as: <A extends string>(alias: A) => AliasedRawBuilder<R, A> };

/**
 * Returns a table of rows that `recordsetText` has written as JSON: a statement has one text, however many rows it takes. `types` names the type of each
 * column in the database.
 */
export function recordset<R extends object>(json: Expression<string> | string, types: ColumnTypes<R>): Named<R> {
  return { as: (alias) => sql<R>`jsonb_to_recordset(${json}::jsonb)`.as(columnsOf(alias, types)) };
}

/** Like `recordset`, for a single row, as `recordText` has written it. */
export function record<R extends object>(json: Expression<string> | string, types: ColumnTypes<R>): Named<R> {
  return { as: (alias) => sql<R>`jsonb_to_record(${json}::jsonb)`.as(columnsOf(alias, types)) };
}

function columnsOf(alias: string, types: Readonly<Record<string, ColumnType>>) {
  const columns = Object.entries(types).map(([name, type]) => sql`${sql.id(name)} ${sql.raw(type)}`);
  return sql`${sql.id(alias)} (${sql.join(columns)})`;
}

/** Writes rows as JSON whose keys are the database's names. */
export function recordsetText(rows: readonly object[]): string {
  return JSON.stringify(rows.map(withDatabaseNames));
}

/** Like `recordsetText`, for a single row. */
export function recordText(row: object): string {
  return JSON.stringify(withDatabaseNames(row));
}

function withDatabaseNames(row: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [databaseName(name), value]));
}

/** `contentHash` → `content_hash`. */
function databaseName(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
