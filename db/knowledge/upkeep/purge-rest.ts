import type { ActorRef } from '../../actor-ref.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Marks sources whose bytes contain a removed item as deleted; pages, which are fetched anew, stay. `removeNextSource` removes the references to them. */
export async function closeSources(tx: Tx, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  return change(
    tx.em,
    `update knowledge_sources set deleted_at = now(), updated_at = now(), version = version + 1, text = null
      where id = any (?::uuid[]) and kind <> 'url' and deleted_at is null`,
    [[...ids]],
  );
}

/** Which sources are removed: all of the base, or those deleted at or before a time. */
export interface ClosedSources {
  readonly kbId: string;
  readonly isAll: boolean;
  /** ISO 8601; null: at any time. */
  readonly deletedBefore: string | null;
}

const detachedAtOnce = 2_000;

/**
 * Removes the next source with its files, or first detaches some of its items. Returns its id, the keys of bytes that no row references any more, and the
 * number removed; null when no source is left.
 */
export async function removeNextSource(
  tx: Tx,
  { kbId, isAll, deletedBefore }: ClosedSources,
): Promise<{ readonly sourceId: string; readonly removed: number; readonly keys: string[] } | null> {
  const source = await row<{ id: string; attachment_id: string | null }>(
    tx.em,
    `select id, attachment_id from knowledge_sources
      where kb_id = ?::uuid and (?::boolean or deleted_at <= coalesce(?::timestamptz, 'infinity')) order by id limit 1 for update`,
    [kbId, isAll, deletedBefore],
  );
  if (source === null) return null;
  const detached = await change(
    tx.em,
    `update knowledge_items set source_id = null, row_version = row_version + 1, updated_at = now()
      where id = any (array(select id from knowledge_items where source_id = ?::uuid order by id limit ?))`,
    [source.id, detachedAtOnce],
  );
  if (detached === detachedAtOnce) return { sourceId: source.id, removed: 0, keys: [] };

  const files = await rows<{ id: string }>(
    tx.em,
    'select distinct attachment_id as id from knowledge_runs where source_id = ?::uuid and attachment_id is not null',
    [source.id],
  );
  await change(tx.em, "delete from attachment_links where owner_kind = 'source' and owner_id = ?::uuid", [source.id]);
  // What its runs recorded about the file: title, warnings.
  await change(tx.em, "update knowledge_runs set params = '{}', attachment_id = null where source_id = ?::uuid", [source.id]);
  await change(tx.em, 'delete from knowledge_sources where id = ?::uuid', [source.id]);
  const ids = [...files.map(({ id }) => id), ...(source.attachment_id === null ? [] : [source.attachment_id])];
  return { sourceId: source.id, removed: 1, keys: await dropFiles(tx, ids) };
}

/** Removes the files that exports of a base wrote and imports read; no such run works during a purge. Returns the keys of their bytes. */
export async function removeRunFiles(tx: Tx, kbId: string): Promise<string[]> {
  const files = await rows<{ id: string }>(
    tx.em,
    `select distinct attachment_id as id from knowledge_runs where kb_id = ?::uuid and kind in ('export', 'import') and attachment_id is not null`,
    [kbId],
  );
  await change(
    tx.em,
    "delete from attachment_links where owner_kind = 'knowledge_run' and owner_id in (select id from knowledge_runs where kb_id = ?::uuid)",
    [kbId],
  );
  return dropFiles(
    tx,
    files.map(({ id }) => id),
  );
}

/** Deletes those of the attachments that nothing references. The caller removes their bytes after the commit, else a sweep does. */
async function dropFiles(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const gone = await rows<{ key: string }>(
    tx.em,
    `delete from attachments a where a.id = any (?::uuid[])
        and not exists (select from attachment_links l where l.attachment_id = a.id and (l.until is null or l.until > now()))
        and not exists (select from knowledge_sources s where s.attachment_id = a.id)
     returning a.storage_key as key`,
    [[...ids]],
  );
  return gone.map(({ key }) => key);
}

const findingsAtOnce = 1_000;

/** Erases the texts of findings about items that no longer exist, and dismisses the open ones. Handles at most a thousand; returns their number. */
export function emptyFindings(tx: Tx, kbId: string, by: ActorRef): Promise<number> {
  return change(
    tx.em,
    `update knowledge_findings set detail = '{}', undo = null, reason = null, version = version + 1, updated_at = now(),
            state = case when state = 'open' then 'dismissed' else state end,
            resolution = case when state = 'open' then 'dismiss' else resolution end,
            resolved_by = case when state = 'open' then ?::jsonb else resolved_by end,
            resolved_at = case when state = 'open' then now() else resolved_at end
      where id = any (array(
        select f.id from knowledge_findings f
         where f.kb_id = ?::uuid and (f.detail <> '{}' or f.undo is not null or f.reason is not null or f.state = 'open')
           and exists (select from unnest(f.item_ids) as g (id) where not exists (select from knowledge_items i where i.id = g.id))
         limit ?))`,
    [JSON.stringify(by), kbId, findingsAtOnce],
  );
}

/** Deletes at most a thousand findings of a base; returns their number. */
export function removeFindings(tx: Tx, kbId: string): Promise<number> {
  return change(
    tx.em,
    'delete from knowledge_findings where id = any (array(select id from knowledge_findings where kb_id = ?::uuid limit ?))',
    [kbId, findingsAtOnce],
  );
}

const quotedAtOnce = 1_000;

/**
 * Erases quotes of removed items and sources from the evidence of a page of items, in the order of their ids. Returns how many items it examined, the last
 * of them, and how many changed.
 */
export async function emptyQuotes(
  tx: Tx,
  kbId: string,
  after: string | null,
): Promise<{ readonly looked: number; readonly last: string | null; readonly changed: number }> {
  const page = await rows<{ id: string }>(
    tx.em,
    `select id from knowledge_items where kb_id = ?::uuid and (?::uuid is null or id > ?::uuid) order by id limit ?`,
    [kbId, after, after, quotedAtOnce],
  );
  const ids = page.map(({ id }) => id);
  const changed = await change(
    tx.em,
    `update knowledge_items i set row_version = row_version + 1, updated_at = now(), evidence = (
        select jsonb_agg(case when ${isGone} then e.value || '{"quote":null}' else e.value end order by e.ord)
          from jsonb_array_elements(i.evidence) with ordinality as e (value, ord))
      where i.id = any (?::uuid[]) and i.evidence <> '[]' and exists (select from jsonb_array_elements(i.evidence) as e (value) where ${isGone})`,
    [ids],
  );
  return { looked: ids.length, last: ids.at(-1) ?? null, changed };
}

const isUuid = "e.value ->> 'ref' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'";
/** Condition: evidence `e` quotes an item or source that no longer exists. */
const isGone = `coalesce(e.value ->> 'quote' is not null and case
  when e.value ->> 'kind' = 'item' and ${isUuid} then not exists (select from knowledge_items g where g.id = (e.value ->> 'ref')::uuid)
  when e.value ->> 'kind' = 'source' and ${isUuid} then not exists (select from knowledge_sources g where g.id = (e.value ->> 'ref')::uuid)
  else false end, false)`;

const termsAtOnce = 10_000;

/** Deletes the terms of a base whose content is removed, in case some were miscounted; at most ten thousand. Returns their number. */
export function removeTerms(tx: Tx, kbId: string): Promise<number> {
  return change(
    tx.em,
    'delete from knowledge_terms where kb_id = ?::uuid and lexeme = any (array(select lexeme from knowledge_terms where kb_id = ?::uuid limit ?))',
    [kbId, kbId, termsAtOnce],
  );
}

/** Returns the superseded predecessors of a base that still hold items. */
export async function predecessorsWithItems(tx: Tx, kbId: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `with recursive earlier as (
       select predecessor_id as id from knowledge_bases where id = ?::uuid and predecessor_id is not null
       union
       select b.predecessor_id from earlier e join knowledge_bases b on b.id = e.id where b.predecessor_id is not null)
     select id from earlier e where exists (select from knowledge_items i where i.kb_id = e.id)`,
    [kbId],
  );
  return found.map(({ id }) => id);
}

/**
 * Deletes the grants, the policy and the counters of an empty base. Its row stays for its runs, without its name, its slug and its subject. Returns false
 * when items or sources have arrived meanwhile.
 */
export async function removeBase(tx: Tx, kbId: string): Promise<boolean> {
  await row(tx.em, 'select id from knowledge_bases where id = ?::uuid for update', [kbId]);
  const left = await row<{ is_left: boolean }>(
    tx.em,
    'select exists (select from knowledge_items where kb_id = ?::uuid) or exists (select from knowledge_sources where kb_id = ?::uuid) as is_left',
    [kbId, kbId],
  );
  if (left?.is_left !== false) return false;
  for (const table of ['knowledge_grants', 'knowledge_policies', 'knowledge_base_counters'])
    await change(tx.em, `delete from ${table} where kb_id = ?::uuid`, [kbId]);
  await change(
    tx.em,
    `update knowledge_bases set deleted_at = coalesce(deleted_at, now()), updated_at = now(), version = version + 1, name = '', slug = id::text,
            subject_kind = null, subject_id = null where id = ?::uuid`,
    [kbId],
  );
  return true;
}
