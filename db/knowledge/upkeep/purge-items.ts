import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeSubjectKind } from '../bases/knowledge-base.entity.ts';
import { charsBefore } from '../runs/chars-before.ts';

type Tx = Pick<TenantTransaction, 'em'>;

// `is not distinct from`: no index serves it, so items are found by their ids. PostgreSQL takes a base that the statistics don't know for empty, and would
// read all of it to find a few.

/** What a purge removes from a base. `deletedBefore`: ISO 8601. `isWhole`: the base is the subject's own, so all of it is about the subject. */
export type PurgeTarget =
  | { readonly mode: 'tombstones'; readonly deletedBefore: string }
  | { readonly mode: 'items'; readonly itemIds: readonly string[] }
  | { readonly mode: 'subject'; readonly subjectKind: KnowledgeSubjectKind; readonly subjectId: string; readonly isWhole: boolean }
  | { readonly mode: 'all' };

/** Whether a purge removes the whole content of its base. */
export function takesAll(target: PurgeTarget): boolean {
  return target.mode === 'all' || (target.mode === 'subject' && target.isWhole);
}

/** The items of a base that a purge removes. */
function purgedItems(kbId: string, target: PurgeTarget) {
  const items = query.selectFrom('knowledge_items as i').where('i.kbId', '=', kbId);
  if (takesAll(target)) return items;
  const published = items.where('i.stagedRunId', 'is', null);
  switch (target.mode) {
    case 'tombstones':
      return published.where('i.deletedAt', '<=', sql<string>`${target.deletedBefore}::timestamptz`);
    case 'items':
      return published.where('i.id', '=', anyId(target.itemIds));
    case 'subject': {
      const evidence = [{ subject_kind: target.subjectKind, subject_id: target.subjectId }];
      return published.where(sql<boolean>`i.evidence @> ${JSON.stringify(evidence)}::jsonb`);
    }
    case 'all':
      return items;
    default:
      return target satisfies never;
  }
}

/** Limits of one read: the number of items, and the characters after which no further item is added. */
const pageMax = 200;
const pageChars = 2_000_000;

/** Returns the ids of the next items that a purge removes, after `after`, in order. */
export async function nextPurged(
  tx: Tx,
  kbId: string,
  { target, after }: { readonly target: PurgeTarget; readonly after: string | null },
): Promise<string[]> {
  let page = purgedItems(kbId, target).select(['i.id', charsBefore]).orderBy('i.id').limit(pageMax);
  if (after !== null) page = page.where('i.id', '>', after);
  const found = await rows(tx.em, query.selectFrom(page.as('p')).where('p.before', '<', pageChars).select('p.id').orderBy('p.id'));
  return found.map(({ id }) => id);
}

/** Returns how many items a purge is about to remove. */
export async function countPurged(tx: Tx, kbId: string, target: PurgeTarget): Promise<number> {
  const found = await row(
    tx.em,
    purgedItems(kbId, target).select(({ fn }) => fn.countAll<number>().as('n')),
  );
  return found?.n ?? 0;
}

/** Returns those of the ids that belong to items of a base, deleted or not. */
export async function itemsOfBase(tx: Tx, kbId: string, ids: readonly string[]): Promise<Set<string>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_items as i')
      .where('i.kbId', 'is not distinct from', kbId)
      .where('i.stagedRunId', 'is', null)
      .where('i.id', '=', anyId(ids))
      .select('i.id'),
  );
  return new Set(found.map(({ id }) => id));
}

/** Returns the items derived from the given ones, directly or through other derived items; not the given ones themselves. */
export async function derivedFrom(tx: Tx, kbId: string, ids: readonly string[]): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .withRecursive('derived', (of) =>
        of.selectNoFrom(sql<string>`unnest(${ids}::uuid[])`.as('id')).union(
          of
            .selectFrom('derived as d')
            .innerJoin('knowledge_relations as r', (on) => on.onRef('r.toItemId', '=', 'd.id').on('r.type', '=', 'derived_from'))
            .innerJoin('knowledge_items as i', (on) =>
              on.onRef('i.id', '=', 'r.fromItemId').on('i.kbId', 'is not distinct from', kbId).on('i.origin', '=', 'derived'),
            )
            .select('r.fromItemId as id'),
        ),
      )
      .selectFrom('derived')
      .where('derived.id', '<>', sql<string>`all(${ids}::uuid[])`)
      .select('derived.id'),
  );
  return found.map(({ id }) => id);
}

/** Returns every text that items have had: vectors may have been computed from any of them. */
export function textsOfItems(tx: Tx, ids: readonly string[]) {
  const current = query.selectFrom('knowledge_items as i').where('i.id', '=', anyId(ids)).select(['i.title', 'i.content', 'i.pages']);
  const earlier = query
    .selectFrom('knowledge_item_versions as v')
    .leftJoin('knowledge_items as i', (on) => on.onRef('i.id', '=', 'v.itemId').onRef('i.contentHash', '=', 'v.contentHash'))
    .where('v.itemId', '=', anyId(ids))
    .select(['v.title', 'v.content', 'i.pages']);
  return rows(tx.em, query.selectFrom(current.unionAll(earlier).as('t')).select(['t.title', 't.content', 't.pages']).distinct());
}

/** Locks items of a base in the order of their ids; returns those that still exist. `isLive`: the base's counters include the item. */
export function lockPurged(tx: Tx, kbId: string, ids: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_items as i')
      .where('i.kbId', 'is not distinct from', kbId)
      .where('i.id', '=', anyId(ids))
      .select([
        'i.id',
        'i.curationState as state',
        'i.sourceId',
        sql<boolean>`i.deleted_at is null and i.staged_run_id is null`.as('isLive'),
      ])
      .orderBy('i.id')
      .forUpdate(),
  );
}

/** Returns the SHA-256 of the text that a model received for each chunk of items: the keys of the cache. */
export async function hashesOfChunks(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const text = sql<string>`case when c.context is null then c.text else c.context || E'\\n' || c.text end`;
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_chunks as c')
      .where('c.itemId', '=', anyId(ids))
      .select(sql<string>`encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`.as('sha256')),
  );
  return found.map(({ sha256 }) => sha256);
}

/** Whose cache, and which of its rows. */
export interface CachedTexts {
  readonly organizationId: string;
  readonly model: string;
  readonly hashes: readonly string[];
}

/** Deletes the cached vectors of texts, for every revision of the model; returns their number. */
export function dropCached(tx: Tx, { organizationId, model, hashes }: CachedTexts): Promise<number> {
  if (hashes.length === 0) return Promise.resolve(0);
  return change(
    tx.em,
    query
      .deleteFrom('knowledge_embedding_cache')
      .where('organizationId', '=', organizationId)
      .where('model', '=', model)
      .where('sha256', '=', sql<string>`any(${hashes}::text[])`),
  );
}

/** Returns superseded bases that still hold the originals that a re-embed copied these items from. */
export async function basesWithCopies(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .withRecursive('earlier', (of) =>
        of
          .selectFrom('knowledge_items as i')
          .where('i.id', '=', anyId(ids))
          .where('i.predecessorItemId', 'is not', null)
          .select('i.predecessorItemId as id')
          .union(
            of
              .selectFrom('earlier as e')
              .innerJoin('knowledge_items as i', 'i.id', 'e.id')
              .where('i.predecessorItemId', 'is not', null)
              .select('i.predecessorItemId as id'),
          ),
      )
      .selectFrom('earlier as e')
      .innerJoin('knowledge_items as i', 'i.id', 'e.id')
      .select('i.kbId')
      .distinct(),
  );
  return found.map(({ kbId }) => kbId);
}

/** Numbers of rows removed with items, by kind. */
export interface PurgedRows {
  readonly versions: number;
  readonly relations: number;
}

/** Removes locked items whose chunks are already deleted, with their versions, relations and the references to them. Returns the numbers of rows removed. */
export async function removeItems(tx: Tx, ids: readonly string[]): Promise<PurgedRows> {
  const relations = await dropRelationsOf(tx, ids);
  const versions = await change(tx.em, query.deleteFrom('knowledge_item_versions').where('itemId', '=', anyId(ids)));
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set(({ ref }) => ({ supersededById: null, updatedAt: ref('updatedAt') }))
      .where('supersededById', '=', anyId(ids)),
  );
  await change(tx.em, query.deleteFrom('knowledge_items').where('id', '=', anyId(ids)));
  return { versions, relations };
}

/** Deletes all relations of items, in both directions; returns their number. */
export function dropRelationsOf(tx: Tx, itemIds: readonly string[]): Promise<number> {
  return change(
    tx.em,
    query
      .deleteFrom('knowledge_relations')
      .where(({ eb, or }) => or([eb('fromItemId', '=', anyId(itemIds)), eb('toItemId', '=', anyId(itemIds))])),
  );
}
