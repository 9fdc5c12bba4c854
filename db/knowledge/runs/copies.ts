import { type Expression, sql } from 'kysely';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';

// The statistics don't know a new base, and PostgreSQL takes an unknown one for empty: it would read all of it for each page, or join each row with each.
// So each id looks up its row separately: `lateral` with `offset 0` stays a loop that finds rows by the full unique key.

/** For `offset`: keeps a subquery a loop of its own. */
export const none = sql.lit(0);

/** Rows that are copied, each with the id of its copy. */
export function withNewIds(ids: readonly string[]) {
  return sql<{ oldId: string; id: string }>`unnest(${ids}::uuid[], ${ids.map(() => newId())}::uuid[])`.as<'v'>(sql`v (old_id, id)`);
}

/** A base's id as a table `b`: what refers to it stays a lookup by key. */
export function oneBase(kbId: string) {
  return query
    .selectNoFrom(sql<string>`${kbId}::uuid`.as('id'))
    .offset(none)
    .as('b');
}

/** The copy of an item in base `b`. */
export function copyOf(itemId: Expression<string | null>) {
  return query
    .selectFrom('knowledge_items as i')
    .where('i.kbId', '=', sql.ref<string>('b.id'))
    .where('i.predecessorItemId', '=', itemId)
    .select(['i.id', 'i.kbId', 'i.organizationId', 'i.workspaceId', 'i.version', 'i.indexState'])
    .offset(none);
}
