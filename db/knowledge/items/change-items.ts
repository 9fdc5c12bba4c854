import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import { anyOf } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { CurationState } from '../../../workflows/contracts/knowledge/curation.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ItemFilters } from './items.ts';
import { KnowledgeItem, type KnowledgeTrust } from './knowledge-item.entity.ts';

/** Deletes the relations of an item, in both directions. */
export async function removeRelations(tx: Pick<TenantTransaction, 'em'>, itemId: string): Promise<void> {
  await change(
    tx.em,
    query.deleteFrom('knowledge_relations').where(({ eb, or }) => or([eb('fromItemId', '=', itemId), eb('toItemId', '=', itemId)])),
  );
}

/** Locks and returns a published item, deleted or not; null when there is none. */
export async function lockItem(tx: Pick<TenantTransaction, 'em'>, itemId: string): Promise<KnowledgeItem | null> {
  return tx.em.findOne(KnowledgeItem, { id: itemId, stagedRunId: null }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
}

/** Locks live items of a base in the order of their ids, and returns those that exist. */
export function lockItems(tx: Pick<TenantTransaction, 'em'>, kbId: string, ids: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_items as i')
      .select(['i.id', 'i.curationState', 'i.supersededById'])
      .where('i.kbId', '=', kbId)
      .where(sql<boolean>`i.id = any(${[...ids]}::uuid[])`)
      .where('i.deletedAt', 'is', null)
      .where('i.stagedRunId', 'is', null)
      .orderBy('i.id')
      .forUpdate(),
  );
}

/** The filter by which a curator selects items, besides ids. */
export type CuratedFilter = Pick<ItemFilters, 'curationState' | 'kind' | 'origin' | 'tag' | 'sourceId'>;

/** Returns ids of matching live items of a base, at most `limit`. */
export async function listMatchingIds(
  tx: Pick<TenantTransaction, 'em'>,
  { kbId, curationState, kind, origin, tag, sourceId }: CuratedFilter & { readonly kbId: string },
  limit: number,
): Promise<string[]> {
  let items = query.selectFrom('knowledge_live_items as i').select('i.id').where('i.kbId', '=', kbId);
  if (curationState) items = items.where('i.curationState', '=', curationState);
  if (kind) items = items.where('i.kind', '=', kind);
  if (origin) items = items.where('i.origin', '=', origin);
  if (tag !== undefined) items = items.where(sql<boolean>`${tag} = any(i.tags)`);
  if (sourceId) items = items.where('i.sourceId', '=', sourceId);
  return (await rows(tx.em, items.orderBy('i.id').limit(limit))).map(({ id }) => id);
}

export interface NewState {
  readonly state: CurationState;
  /** Null leaves the trust unchanged. */
  readonly trust: KnowledgeTrust | null;
  readonly supersededById: string | null;
}

/** Sets the state of locked items. */
export async function writeStates(
  tx: Pick<TenantTransaction, 'em'>,
  ids: readonly string[],
  { state, trust, supersededById }: NewState,
): Promise<void> {
  if (ids.length === 0) return;
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set((eb) => ({
        curationState: state,
        supersededById,
        ...(trust === null ? {} : { trust }),
        rowVersion: eb('rowVersion', '+', 1),
        updatedAt: sql<string>`now()`,
      }))
      .where(sql<boolean>`id = any(${[...ids]}::uuid[])`),
  );
}

/** Returns the ids of an item and its chain of successors: the item that supersedes it, the one that supersedes that, and so on. */
export async function listSuccessors(tx: Pick<TenantTransaction, 'em'>, itemId: string): Promise<string[]> {
  const found = await row(
    tx.em,
    query
      .withRecursive('later', (of) =>
        of
          .selectFrom('knowledge_items as i')
          .select(['i.id', 'i.supersededById'])
          .where('i.id', '=', itemId)
          .union(
            of.selectFrom('knowledge_items as n').innerJoin('later as l', 'l.supersededById', 'n.id').select(['n.id', 'n.supersededById']),
          ),
      )
      .selectFrom('later')
      .select(sql<string[]>`array_agg(later.id)`.as('ids')),
  );
  return found?.ids ?? [];
}

const touched = prepared(({ itemIds }: ParametersOf<{ readonly itemIds: readonly string[] }>) =>
  query
    .updateTable('knowledge_items')
    .set(({ ref }) => ({ lastUsedAt: sql<string>`now()`, updatedAt: ref('updatedAt') }))
    .where(({ eb, selectFrom }) =>
      eb(
        'id',
        '=',
        anyOf(
          selectFrom('knowledge_items as i')
            .select('i.id')
            .where(sql<boolean>`i.id = any (${itemIds}::uuid[])`)
            .where('i.deletedAt', 'is', null)
            .orderBy('i.id')
            .forNoKeyUpdate()
            .skipLocked(),
        ),
      ),
    ),
);

/** Records that items were just found by a search; an item that another transaction is changing is left to the next search. */
export async function touchItems(tx: Pick<TenantTransaction, 'em'>, itemIds: readonly string[]): Promise<void> {
  await change(tx.em, touched({ itemIds }));
}
