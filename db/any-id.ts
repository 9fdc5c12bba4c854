import { type RawBuilder, sql } from 'kysely';

/** Compares with any of the ids, `where('i.id', '=', anyId(ids))`. They are one parameter, so that the text is the same however many there are. */
export function anyId(ids: readonly string[]): RawBuilder<string> {
  return sql`any(${ids}::uuid[])`;
}
