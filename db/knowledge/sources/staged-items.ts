import { newId } from '../../ids.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { NewItemRow } from '../items/insert-items.ts';
import type { KnowledgeItem } from '../items/knowledge-item.entity.ts';
import type { CurationState } from '../../skills/skill.entity.ts';
import { dropUnusedTerms, type BaseChange } from '../bases/base-counters.ts';
import type { BasePlace } from '../items/write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A run and the source whose items it replaces. */
export interface Staging {
  readonly sourceId: string;
  readonly runId: string;
}

/**
 * Pairs staged and live items of a source that have the same hash and pages, in the order of their ids: the live item of a pair stays, with its id, state
 * and vectors, and its staged twin is dropped. Uses grouping, not a join: without statistics on what was just staged, PostgreSQL would compare each item
 * with each.
 */
const pairsSql = `
  with numbered as (select id, staged_run_id is not null as is_staged, content_hash, coalesce(pages, '[]') as pages,
                           row_number() over (partition by staged_run_id is not null, content_hash, coalesce(pages, '[]') order by id) as n
                      from knowledge_items where (staged_run_id is null or staged_run_id = ?::uuid) and source_id = ?::uuid and deleted_at is null),
       paired as (select (array_agg(id) filter (where is_staged))[1] as staged_id, (array_agg(id) filter (where not is_staged))[1] as old_id
                    from numbered group by content_hash, pages, n)`;

// For the same reason, below: `offset 0` keeps a subquery from becoming a join, and PostgreSQL assumes an average size for a base that is compared with a
// column. A base that is compared with a value counts as empty while the statistics don't know it; then any index that begins with it seems as good as the
// right one.

/** Returns the key that two items share if they are the same passage of a file. */
export function twinKey({ contentHash, pages }: Pick<NewItemRow, 'contentHash' | 'pages'>): string {
  return [contentHash, ...(pages ?? []).map(({ page, start }) => `${page}:${start}`)].join(' ');
}

/** Where to look for twins. */
export interface TwinSearch extends Staging {
  readonly kbId: string;
  /** Staged items that don't count, whether they already exist or not. */
  readonly exceptIds: readonly string[];
}

/** For the given hashes, returns how many live items of the source have each, minus those already staged, by `twinKey`. Each one left is a free twin. */
export async function countFreeTwins(
  tx: Tx,
  { kbId, sourceId, runId, exceptIds }: TwinSearch,
  hashes: readonly string[],
): Promise<Map<string, number>> {
  const found = await rows<Pick<NewItemRow, 'contentHash' | 'pages'> & { readonly free: number }>(
    tx.em,
    `select content_hash as "contentHash", pages, (count(*) filter (where staged_run_id is null) - count(*) filter (where staged_run_id = ?::uuid))::int as free
       from (select ?::uuid as id offset 0) b join knowledge_items i on i.kb_id = b.id
      where source_id = ?::uuid and deleted_at is null and content_hash = any (?::text[]) and i.id <> all (?::uuid[])
      group by content_hash, pages`,
    [runId, kbId, sourceId, [...hashes], [...exceptIds]],
  );
  return new Map(found.map((item) => [twinKey(item), item.free]));
}

/** Drops up to `limit` staged items of a run, with their chunks, vectors and versions; returns their number. */
export async function dropStaged(tx: Tx, runId: string, limit: number): Promise<number> {
  const gone = await rows<{ id: string }>(tx.em, 'select id from knowledge_items where staged_run_id = ?::uuid limit ?', [runId, limit]);
  await dropItems(
    tx,
    gone.map(({ id }) => id),
  );
  return gone.length;
}

async function dropItems(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await change(tx.em, 'delete from knowledge_chunks where item_id = any (?::uuid[])', [[...ids]]);
  await change(tx.em, 'delete from knowledge_item_versions where item_id = any (?::uuid[])', [[...ids]]);
  await change(tx.em, 'delete from knowledge_items where id = any (?::uuid[])', [[...ids]]);
}

/** Locks and returns the live items of the source without a staged twin, which are to be replaced, in the order of their ids. */
export function replacedItems(tx: Tx, { sourceId, runId }: Staging) {
  return rows<{ id: string; state: CurationState }>(
    tx.em,
    `${pairsSql} select i.id, i.curation_state as state from knowledge_items i
      where i.id in (select old_id from paired where staged_id is null) order by i.id for update of i`,
    [runId, sourceId],
  );
}

/**
 * Gives the live items of pairs their twins' place in the file (key, title) and, unless a person has changed them, what the file says about them besides
 * their text: kind, fact, evidence, times, tags, metadata. Drops the twins. Returns how many items stayed.
 */
export async function settleTwins(tx: Tx, { sourceId, runId }: Staging): Promise<number> {
  const pairs = await rows<{ staged_id: string; old_id: string }>(
    tx.em,
    `${pairsSql} select staged_id, old_id from paired where staged_id is not null and old_id is not null`,
    [runId, sourceId],
  );
  if (pairs.length === 0) return 0;
  const staged = pairs.map((pair) => pair.staged_id);
  const old = pairs.map((pair) => pair.old_id);
  // First clears the keys that change: two items may swap theirs.
  await change(
    tx.em,
    `update knowledge_items i set external_id = null from unnest(?::uuid[], ?::uuid[]) as p (staged_id, old_id), knowledge_items s
      where i.id = p.old_id and s.id = p.staged_id and i.external_id is distinct from s.external_id`,
    [staged, old],
  );
  await change(
    tx.em,
    `update knowledge_items i set external_id = s.external_id, title = s.title, updated_at = now(), row_version = i.row_version + 1
       from unnest(?::uuid[], ?::uuid[]) as p (staged_id, old_id), knowledge_items s
      where i.id = p.old_id and s.id = p.staged_id and (i.external_id is distinct from s.external_id or i.title is distinct from s.title)
        and not exists (select from knowledge_items o where o.kb_id = i.kb_id and o.external_id = s.external_id and o.id <> i.id and o.deleted_at is null and o.staged_run_id is null offset 0)`,
    [staged, old],
  );
  await takeFields(tx, { staged, old });
  await dropItems(tx, staged);
  return pairs.length;
}

const fieldColumns = ['kind', 'fact', 'evidence', 'valid_from', 'valid_until', 'observed_at', 'tags', 'metadata'] as const;

/** Versions store tags and metadata, so a change to them creates a new version. */
async function takeFields(tx: Tx, { staged, old }: { readonly staged: readonly string[]; readonly old: readonly string[] }): Promise<void> {
  const listed = (of: string) => fieldColumns.map((name) => `${of}.${name}`).join(', ');
  await change(
    tx.em,
    `with changed as (
       update knowledge_items i set ${fieldColumns.map((name) => `${name} = s.${name}`).join(', ')}, updated_at = now(), row_version = i.row_version + 1,
              version = i.version + case when (i.tags, i.metadata) is distinct from (s.tags, s.metadata) then 1 else 0 end
         from unnest(?::uuid[], ?::uuid[]) as p (staged_id, old_id), knowledge_items s
        where i.id = p.old_id and s.id = p.staged_id and (${listed('i')}) is distinct from (${listed('s')})
          and not exists (select from knowledge_item_versions v where v.item_id = i.id and v.version > 1 and v.reason is distinct from 'sync' offset 0)
       returning i.*)
     insert into knowledge_item_versions (item_id, version, kb_id, organization_id, workspace_id, title, content, content_hash, metadata, tags, actor, reason)
     select c.id, c.version, c.kb_id, c.organization_id, c.workspace_id, c.title, c.content, c.content_hash, c.metadata, c.tags, c.created_by, 'sync' from changed c
     on conflict do nothing`,
    [[...staged], [...old]],
  );
}

/** Marks items as deleted; the caller removes their chunks. */
export async function softDelete(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await change(tx.em, 'delete from knowledge_relations where from_item_id = any (?::uuid[]) or to_item_id = any (?::uuid[])', [
    [...ids],
    [...ids],
  ]);
  await change(
    tx.em,
    `update knowledge_items set deleted_at = now(), updated_at = now(), row_version = row_version + 1, chunk_count = 0, token_count = 0, index_state = 'pending', index_error = null
      where id = any (?::uuid[])`,
    [[...ids]],
  );
}

/** Marks staged items as waiting for their index that were not chunked because of a twin which no longer exists. Returns them. */
export function uncutStaged(tx: Tx, runId: string): Promise<Pick<KnowledgeItem, 'id' | 'rowVersion' | 'indexState'>[]> {
  return rows(
    tx.em,
    `update knowledge_items set index_state = 'pending' where staged_run_id = ?::uuid and chunk_count = 0 and index_state = 'ready' and content ~ '[[:alnum:]]'
     returning id, row_version as "rowVersion", index_state as "indexState"`,
    [runId],
  );
}

/** What staged items add to a base's counters, except for the terms. */
export interface StagedCounts {
  readonly states: Readonly<Partial<Record<CurationState, number>>>;
  readonly chunks: number;
  readonly tokens: number;
  readonly lexLen: number;
}

/** Counts the items and chunks that a run has staged. */
export async function countStaged(tx: Tx, runId: string): Promise<StagedCounts> {
  const counts = await row<StagedCounts>(
    tx.em,
    `with chunks as (select count(*)::int as chunks, coalesce(sum(c.token_count), 0)::int as tokens, coalesce(sum(c.lex_len), 0)::int as "lexLen"
                       from knowledge_chunks c join knowledge_items i on i.id = c.item_id where i.staged_run_id = ?::uuid),
          states as (select curation_state as state, count(*)::int as n from knowledge_items where staged_run_id = ?::uuid group by 1)
     select chunks.*, (select coalesce(jsonb_object_agg(state, n), '{}') from states) as states from chunks`,
    [runId, runId],
  );
  return counts ?? { states: {}, chunks: 0, tokens: 0, lexLen: 0 };
}

/**
 * Publishes what a run has staged, and counts its terms together with those that `removed` takes away. An external id that a live item of the base already
 * has is dropped. A long file has as many terms as rows, so they stay in the database. All items are published before the first term is locked, since other
 * transactions write terms of the base meanwhile.
 */
export async function publishStaged(
  tx: Tx,
  base: BasePlace,
  { runId, removed }: { readonly runId: string; readonly removed: BaseChange['terms'] },
): Promise<void> {
  await change(
    tx.em,
    `update knowledge_items i set external_id = null where i.staged_run_id = ?::uuid and exists (
       select from knowledge_items o where o.kb_id = i.kb_id and o.external_id = i.external_id and o.deleted_at is null and o.staged_run_id is null offset 0)`,
    [runId],
  );
  await change(
    tx.em,
    `with shown as (update knowledge_items set staged_run_id = null, updated_at = now() where staged_run_id = ?::uuid returning 1),
          counted as materialized (
            select term, sum(df)::int as df from (
              select substr(l.lexeme, strpos(l.lexeme, ':') + 1) as term, count(*) as df
                from knowledge_items i join knowledge_chunks c on c.item_id = i.id, unnest(tsvector_to_array(c.lexemes)) as l (lexeme)
               where i.staged_run_id = ?::uuid group by l.lexeme
              union all select t.term, t.df from unnest(?::text[], ?::int[]) as t (term, df)) as both_ways
             group by term having sum(df) <> 0)
     insert into knowledge_terms (kb_id, lexeme, organization_id, workspace_id, df)
     select ?::uuid, term, ?::uuid, ?::uuid, df from counted where (select count(*) from shown) >= 0 order by term collate "C"
     on conflict (kb_id, lexeme) do update set df = knowledge_terms.df + excluded.df`,
    [runId, runId, [...removed.keys()], [...removed.values()], base.id, base.organizationId, base.workspaceId],
  );
  await dropUnusedTerms(tx, base, [...removed.keys()]);
}

/** Counts the live items of a source. */
export async function countSourceItems(tx: Tx, sourceId: string) {
  const found = await row<{ items: number; chunks: number; tokens: number; pending: number }>(
    tx.em,
    `select count(*)::int as items, coalesce(sum(chunk_count), 0)::int as chunks, coalesce(sum(token_count), 0)::int as tokens,
            count(*) filter (where index_state = 'pending')::int as pending
       from knowledge_items where source_id = ?::uuid and staged_run_id is null and deleted_at is null`,
    [sourceId],
  );
  return found ?? { items: 0, chunks: 0, tokens: 0, pending: 0 };
}

/** Locks and returns live items of a source, at most `limit`. */
export function lockSourceItems(tx: Tx, sourceId: string, limit: number) {
  return rows<{ id: string; state: CurationState }>(
    tx.em,
    `select id, curation_state as state from knowledge_items where source_id = ?::uuid and staged_run_id is null and deleted_at is null
      order by id limit ? for update`,
    [sourceId, limit],
  );
}

/** Detaches the items of a source, so that they stay without it. */
export async function detachItems(tx: Tx, sourceId: string): Promise<void> {
  await change(
    tx.em,
    'update knowledge_items set source_id = null, row_version = row_version + 1, updated_at = now() where source_id = ?::uuid',
    [sourceId],
  );
}

/** Writes a finding for each item that a run is about to publish and whose text contains instructions to a model; at most one per item and content. */
export async function findSuspects(tx: Tx, kbId: string, runId: string): Promise<number> {
  const suspects = await rows<{ id: string }>(
    tx.em,
    `select id from knowledge_items where staged_run_id = ?::uuid and jsonb_exists(metadata, 'injection_suspect')`,
    [runId],
  );
  if (suspects.length === 0) return 0;
  return change(
    tx.em,
    `insert into knowledge_findings (id, kb_id, organization_id, workspace_id, run_id, kind, fingerprint, state, item_ids, detail)
     select f.id, i.kb_id, i.organization_id, i.workspace_id, ?::uuid, 'injection_suspect', i.id::text || ':' || i.content_hash, 'open', array[i.id],
            jsonb_build_object('rule', i.metadata -> 'injection_suspect')
       from unnest(?::uuid[], ?::uuid[]) as f (id, item_id) join knowledge_items i on i.id = f.item_id and i.kb_id = ?::uuid on conflict do nothing`,
    [runId, suspects.map(() => newId()), suspects.map(({ id }) => id), kbId],
  );
}
