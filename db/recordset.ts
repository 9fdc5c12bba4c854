import { type AliasedRawBuilder, type Expression, sql } from 'kysely';

type ColumnType = 'uuid' | 'text' | 'text[]' | 'int' | 'bigint' | 'numeric' | 'boolean' | 'jsonb' | 'timestamptz';

/**
 * Returns a table of the rows that `recordsetText` has written as JSON, so that a statement has one text however many rows it takes. `columns` names the
 * type of each column in the database.
 */
export function recordset<R extends object>(json: Expression<string> | string, columns: { readonly [C in keyof R]-?: ColumnType }) {
  const typed = Object.entries<ColumnType>(columns).map(([name, type]) => sql`${sql.id(name)} ${sql.raw(type)}`);
  return {
    as: <A extends string>(alias: A): AliasedRawBuilder<R, A> =>
      sql<R>`jsonb_to_recordset(${json}::jsonb)`.as<A>(sql`${sql.id(alias)} (${sql.join(typed)})`),
  };
}

/** Writes rows as JSON whose keys are the database's names. */
export function recordsetText(rows: readonly object[]): string {
  return JSON.stringify(rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [databaseName(name), value]))));
}

/** `contentHash` → `content_hash`. */
function databaseName(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
