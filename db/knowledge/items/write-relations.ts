import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeRelation } from './knowledge-relation.entity.ts';

/** Locks the live ones among the given items of a base against deletion, and returns their ids. */
export async function lockEnds(tx: Pick<TenantTransaction, 'em'>, kbId: string, ids: readonly string[]): Promise<string[]> {
  const items = query
    .selectFrom('knowledge_items as i')
    .select('i.id')
    .where('i.kbId', '=', kbId)
    .where(sql<boolean>`i.id = any(${[...ids]}::uuid[])`)
    .where('i.deletedAt', 'is', null)
    .where('i.stagedRunId', 'is', null)
    .orderBy('i.id')
    .forShare();
  return (await rows(tx.em, items)).map(({ id }) => id);
}

export type NewRelation = Pick<
  KnowledgeRelation,
  'kbId' | 'organizationId' | 'workspaceId' | 'fromItemId' | 'toItemId' | 'type' | 'note' | 'createdBy'
>;

/** Writes a relation; returns null when the two items already have one of its type. */
export function insertRelation(tx: Pick<TenantTransaction, 'em'>, relation: NewRelation) {
  return row(
    tx.em,
    query
      .insertInto('knowledge_relations')
      .values({ id: newId(), ...relation })
      .onConflict((conflict) => conflict.doNothing())
      .returning(['id', 'kbId', 'fromItemId', 'toItemId', 'type', 'note', 'createdAt']),
  );
}

/** Deletes a relation; returns false when it no longer exists. */
export async function removeRelation(tx: Pick<TenantTransaction, 'em'>, relationId: string): Promise<boolean> {
  return (await change(tx.em, query.deleteFrom('knowledge_relations').where('id', '=', relationId))) === 1;
}
