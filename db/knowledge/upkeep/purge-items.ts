import { change, row, rows } from '../../sql.ts';
import type { CurationState } from '../../skills/skill.entity.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeItem } from '../items/knowledge-item.entity.ts';
import type { KnowledgeSubjectKind } from '../bases/knowledge-base.entity.ts';

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

function conditionOf(target: PurgeTarget): { readonly sql: string; readonly params: readonly unknown[] } {
  if (takesAll(target)) return { sql: 'true', params: [] };
  switch (target.mode) {
    case 'tombstones':
      return { sql: 'i.staged_run_id is null and i.deleted_at <= ?::timestamptz', params: [target.deletedBefore] };
    case 'items':
      return { sql: 'i.staged_run_id is null and i.id = any (?::uuid[])', params: [[...target.itemIds]] };
    case 'subject': {
      const evidence = [{ subject_kind: target.subjectKind, subject_id: target.subjectId }];
      return { sql: 'i.staged_run_id is null and i.evidence @> ?::jsonb', params: [JSON.stringify(evidence)] };
    }
    case 'all':
      return { sql: 'true', params: [] };
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
  const { sql, params } = conditionOf(target);
  const found = await rows<{ id: string }>(
    tx.em,
    `select id from (
       select i.id, sum(length(i.content)) over (order by i.id) - length(i.content) as before from knowledge_items i
        where i.kb_id = ?::uuid and (?::uuid is null or i.id > ?::uuid) and ${sql} order by i.id limit ?) p
      where p.before < ? order by id`,
    [kbId, after, after, ...params, pageMax, pageChars],
  );
  return found.map(({ id }) => id);
}

/** Returns how many items a purge is about to remove. */
export async function countPurged(tx: Tx, kbId: string, target: PurgeTarget): Promise<number> {
  const { sql, params } = conditionOf(target);
  const found = await row<{ n: number }>(tx.em, `select count(*)::int as n from knowledge_items i where i.kb_id = ?::uuid and ${sql}`, [
    kbId,
    ...params,
  ]);
  return found?.n ?? 0;
}

/** Returns those of the ids that belong to items of a base, deleted or not. */
export async function itemsOfBase(tx: Tx, kbId: string, ids: readonly string[]): Promise<Set<string>> {
  const found = await rows<{ id: string }>(
    tx.em,
    'select id from knowledge_items where kb_id is not distinct from ?::uuid and staged_run_id is null and id = any (?::uuid[])',
    [kbId, [...ids]],
  );
  return new Set(found.map(({ id }) => id));
}

/** Returns the items derived from the given ones, directly or through other derived items; not the given ones themselves. */
export async function derivedFrom(tx: Tx, kbId: string, ids: readonly string[]): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `with recursive derived as (
       select unnest(?::uuid[]) as id
       union
       select r.from_item_id from derived d join knowledge_relations r on r.to_item_id = d.id and r.type = 'derived_from'
         join knowledge_items i on i.id = r.from_item_id and i.kb_id is not distinct from ?::uuid and i.origin = 'derived')
     select id from derived where id <> all (?::uuid[])`,
    [[...ids], kbId, [...ids]],
  );
  return found.map(({ id }) => id);
}

/** Returns every text that items have had: vectors may have been computed from any of them. */
export function textsOfItems(tx: Tx, ids: readonly string[]) {
  return rows<{ title: string | null; content: string; pages: KnowledgeItem['pages'] }>(
    tx.em,
    `select distinct title, content, pages from (select title, content, pages from knowledge_items where id = any (?::uuid[])
       union all select v.title, v.content, i.pages from knowledge_item_versions v
         left join knowledge_items i on i.id = v.item_id and i.content_hash = v.content_hash where v.item_id = any (?::uuid[])) t`,
    [[...ids], [...ids]],
  );
}

/** A locked item that is about to be removed. */
export interface PurgedItem {
  readonly id: string;
  readonly state: CurationState;
  readonly sourceId: string | null;
  /** Whether the base's counters include it. */
  readonly isLive: boolean;
}

/** Locks items of a base in the order of their ids; returns those that still exist. */
export function lockPurged(tx: Tx, kbId: string, ids: readonly string[]): Promise<PurgedItem[]> {
  return rows<PurgedItem>(
    tx.em,
    `select id, curation_state as state, source_id as "sourceId", deleted_at is null and staged_run_id is null as "isLive"
       from knowledge_items where kb_id is not distinct from ?::uuid and id = any (?::uuid[]) order by id for update`,
    [kbId, [...ids]],
  );
}

/** Returns the SHA-256 of the text that a model received for each chunk of items: the keys of the cache. */
export async function hashesOfChunks(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const found = await rows<{ sha256: string }>(
    tx.em,
    `select encode(sha256(convert_to(case when context is null then text else context || E'\\n' || text end, 'UTF8')), 'hex') as sha256
       from knowledge_chunks where item_id = any (?::uuid[])`,
    [[...ids]],
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
  return change(tx.em, 'delete from knowledge_embedding_cache where organization_id = ?::uuid and model = ? and sha256 = any (?::text[])', [
    organizationId,
    model,
    [...hashes],
  ]);
}

/** Returns superseded bases that still hold the originals that a re-embed copied these items from. */
export async function basesWithCopies(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `with recursive earlier as (
       select predecessor_item_id as id from knowledge_items where id = any (?::uuid[]) and predecessor_item_id is not null
       union
       select i.predecessor_item_id from earlier e join knowledge_items i on i.id = e.id where i.predecessor_item_id is not null)
     select distinct i.kb_id as id from earlier e join knowledge_items i on i.id = e.id`,
    [[...ids]],
  );
  return found.map(({ id }) => id);
}

/** Numbers of rows removed with items, by kind. */
export interface PurgedRows {
  readonly versions: number;
  readonly relations: number;
}

/** Removes locked items whose chunks are already deleted, with their versions, relations and the references to them. Returns the numbers of rows removed. */
export async function removeItems(tx: Tx, ids: readonly string[]): Promise<PurgedRows> {
  const list = [[...ids]];
  const relations = await change(
    tx.em,
    'delete from knowledge_relations where from_item_id = any (?::uuid[]) or to_item_id = any (?::uuid[])',
    [...list, ...list],
  );
  const versions = await change(tx.em, 'delete from knowledge_item_versions where item_id = any (?::uuid[])', list);
  await change(tx.em, 'update knowledge_items set superseded_by_id = null where superseded_by_id = any (?::uuid[])', list);
  await change(tx.em, 'delete from knowledge_items where id = any (?::uuid[])', list);
  return { versions, relations };
}
