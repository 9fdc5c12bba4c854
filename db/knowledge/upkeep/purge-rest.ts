import { type NotNull, sql } from 'kysely';
import type { ActorRef } from '../../actor-ref.ts';
import { anyId, now } from '../../expressions.ts';
import { linksOf } from '../../attachments/attachments.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeEvidence } from '../items/knowledge-item.entity.ts';
import type { KnowledgeFindingState } from './knowledge-finding.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Marks sources whose bytes contain a removed item as deleted; pages, which are fetched anew, stay. `removeNextSource` removes the references to them. */
export async function closeSources(tx: Tx, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  return change(
    tx.em,
    query
      .updateTable('knowledge_sources')
      .set((eb) => ({ deletedAt: now, updatedAt: now, version: eb('version', '+', 1), text: null }))
      .where('id', '=', anyId(ids))
      .where('kind', '<>', 'url')
      .where('deletedAt', 'is', null),
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
  closed: ClosedSources,
): Promise<{ readonly sourceId: string; readonly removed: number; readonly keys: string[] } | null> {
  const source = await lockNextSource(tx, closed);
  if (source === null) return null;
  if ((await detachItems(tx, source.id)) === detachedAtOnce) return { sourceId: source.id, removed: 0, keys: [] };

  const files = await rows(
    tx.em,
    query
      .selectFrom('knowledge_runs as r')
      .where('r.sourceId', '=', source.id)
      .where('r.attachmentId', 'is not', null)
      .select('r.attachmentId')
      .distinct(),
  );
  await change(tx.em, query.deleteFrom('attachment_links').where('ownerKind', '=', 'source').where('ownerId', '=', source.id));
  // What its runs recorded about the file: title, warnings.
  await change(
    tx.em,
    query
      .updateTable('knowledge_runs')
      .set(({ ref }) => ({ params: {}, attachmentId: null, updatedAt: ref('updatedAt') }))
      .where('sourceId', '=', source.id),
  );
  await change(tx.em, query.deleteFrom('knowledge_sources').where('id', '=', source.id));
  return { sourceId: source.id, removed: 1, keys: await dropFiles(tx, [...files, source]) };
}

function lockNextSource(tx: Tx, { kbId, isAll, deletedBefore }: ClosedSources) {
  let sources = query
    .selectFrom('knowledge_sources as s')
    .where('s.kbId', '=', kbId)
    .select(['s.id', 's.attachmentId'])
    .orderBy('s.id')
    .limit(1)
    .forUpdate();
  if (!isAll) sources = sources.where('s.deletedAt', '<=', sql<string>`coalesce(${deletedBefore}::timestamptz, 'infinity')`);
  return row(tx.em, sources);
}

/** Detaches at most `detachedAtOnce` items from their source; returns their number. */
function detachItems(tx: Tx, sourceId: string): Promise<number> {
  const attached = query
    .selectFrom('knowledge_items as i')
    .where('i.sourceId', '=', sourceId)
    .select('i.id')
    .orderBy('i.id')
    .limit(detachedAtOnce);
  return change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set((eb) => ({ sourceId: null, rowVersion: eb('rowVersion', '+', 1), updatedAt: now }))
      .where('id', '=', sql<string>`any(array${attached})`),
  );
}

/** Removes the files that exports of a base wrote and imports read; no such run works during a purge. Returns the keys of their bytes. */
export async function removeRunFiles(tx: Tx, kbId: string): Promise<string[]> {
  const runs = query.selectFrom('knowledge_runs as r').where('r.kbId', '=', kbId);
  const files = await rows(
    tx.em,
    runs.where('r.kind', 'in', ['export', 'import']).where('r.attachmentId', 'is not', null).select('r.attachmentId').distinct(),
  );
  await change(
    tx.em,
    query.deleteFrom('attachment_links').where('ownerKind', '=', 'knowledge_run').where('ownerId', 'in', runs.select('r.id')),
  );
  return dropFiles(tx, files);
}

/** Deletes those of the attachments that nothing references. The caller removes their bytes after the commit, else a sweep does. */
async function dropFiles(tx: Tx, files: readonly { readonly attachmentId: string | null }[]): Promise<string[]> {
  const ids = files.flatMap(({ attachmentId }) => (attachmentId === null ? [] : [attachmentId]));
  if (ids.length === 0) return [];
  const gone = await rows(
    tx.em,
    query
      .deleteFrom('attachments as a')
      .where('a.id', '=', anyId(ids))
      .where(({ exists, not, ref }) => not(exists(linksOf(ref('a.id')))))
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('knowledge_sources as s').select('s.id').whereRef('s.attachmentId', '=', 'a.id'))),
      )
      .returning('a.storageKey'),
  );
  return gone.map(({ storageKey }) => storageKey);
}

const findingsAtOnce = 1_000;

/** Erases the texts of findings about items that no longer exist, and dismisses the open ones. Handles at most a thousand; returns their number. */
export function emptyFindings(tx: Tx, kbId: string, by: ActorRef): Promise<number> {
  const isAboutRemoved = sql<boolean>`exists (
    select from unnest(f.item_ids) as g (id) where not exists (select from knowledge_items i where i.id = g.id))`;
  const full = query
    .selectFrom('knowledge_findings as f')
    .where('f.kbId', '=', kbId)
    .where(sql<boolean>`(f.detail <> '{}' or f.undo is not null or f.reason is not null or f.state = 'open')`)
    .where(isAboutRemoved)
    .select('f.id')
    .limit(findingsAtOnce);
  return change(
    tx.em,
    query
      .updateTable('knowledge_findings')
      .set((eb) => ({
        detail: {},
        undo: null,
        reason: null,
        version: eb('version', '+', 1),
        updatedAt: now,
        state: sql<KnowledgeFindingState>`case when state = 'open' then 'dismissed' else state end`,
        resolution: sql<'dismiss'>`case when state = 'open' then 'dismiss' else resolution end`,
        resolvedBy: sql<ActorRef>`case when state = 'open' then ${JSON.stringify(by)}::jsonb else resolved_by end`,
        resolvedAt: sql<string>`case when state = 'open' then now() else resolved_at end`,
      }))
      .where('id', '=', sql<string>`any(array${full})`),
  );
}

/** Deletes at most a thousand findings of a base; returns their number. */
export function removeFindings(tx: Tx, kbId: string): Promise<number> {
  const found = query.selectFrom('knowledge_findings as f').where('f.kbId', '=', kbId).select('f.id').limit(findingsAtOnce);
  return change(tx.em, query.deleteFrom('knowledge_findings').where('id', '=', sql<string>`any(array${found})`));
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
  let page = query.selectFrom('knowledge_items as i').where('i.kbId', '=', kbId).select('i.id').orderBy('i.id').limit(quotedAtOnce);
  if (after !== null) page = page.where('i.id', '>', after);
  const ids = (await rows(tx.em, page)).map(({ id }) => id);
  const changed = await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set((eb) => ({
        rowVersion: eb('rowVersion', '+', 1),
        updatedAt: now,
        evidence: sql<KnowledgeEvidence[]>`(
          select jsonb_agg(case when ${isQuoteLost} then e.value || '{"quote":null}' else e.value end order by e.ord)
            from jsonb_array_elements(knowledge_items.evidence) with ordinality as e (value, ord))`,
      }))
      .where('id', '=', anyId(ids))
      .where(sql<boolean>`evidence <> '[]'`)
      .where(sql<boolean>`exists (select from jsonb_array_elements(knowledge_items.evidence) as e (value) where ${isQuoteLost})`),
  );
  return { looked: ids.length, last: ids.at(-1) ?? null, changed };
}

const isUuid = sql<boolean>`e.value ->> 'ref' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`;
/** Condition: evidence `e` quotes an item or source that no longer exists. */
const isQuoteLost = sql<boolean>`coalesce(e.value ->> 'quote' is not null and case
  when e.value ->> 'kind' = 'item' and ${isUuid} then not exists (select from knowledge_items g where g.id = (e.value ->> 'ref')::uuid)
  when e.value ->> 'kind' = 'source' and ${isUuid} then not exists (select from knowledge_sources g where g.id = (e.value ->> 'ref')::uuid)
  else false end, false)`;

const termsAtOnce = 10_000;

/** Deletes the terms of a base whose content is removed, in case some were miscounted; at most ten thousand. Returns their number. */
export function removeTerms(tx: Tx, kbId: string): Promise<number> {
  const found = query.selectFrom('knowledge_terms as t').where('t.kbId', '=', kbId).select('t.lexeme').limit(termsAtOnce);
  return change(
    tx.em,
    query
      .deleteFrom('knowledge_terms')
      .where('kbId', '=', kbId)
      .where('lexeme', '=', sql<string>`any(array${found})`),
  );
}

/** Returns the superseded predecessors of a base that still hold items. */
export async function predecessorsWithItems(tx: Tx, kbId: string): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .withRecursive('earlier', (of) =>
        of
          .selectFrom('knowledge_bases as b')
          .where('b.id', '=', kbId)
          .where('b.predecessorId', 'is not', null)
          .select('b.predecessorId as id')
          .union(
            of
              .selectFrom('earlier as e')
              .innerJoin('knowledge_bases as b', 'b.id', 'e.id')
              .where('b.predecessorId', 'is not', null)
              .select('b.predecessorId as id'),
          ),
      )
      .selectFrom('earlier as e')
      .where(({ exists, selectFrom }) => exists(selectFrom('knowledge_items as i').select('i.id').whereRef('i.kbId', '=', 'e.id')))
      .select('e.id')
      .$narrowType<{ id: NotNull }>(), // no null, by the conditions
  );
  return found.map(({ id }) => id);
}

/**
 * Deletes the grants, the policy and the counters of an empty base. Its row stays for its runs, without its name, its slug and its subject. Returns false
 * when items or sources have arrived meanwhile.
 */
export async function removeBase(tx: Tx, kbId: string): Promise<boolean> {
  await row(tx.em, query.selectFrom('knowledge_bases as b').where('b.id', '=', kbId).select('b.id').forUpdate());
  const left = await row(
    tx.em,
    query.selectNoFrom(({ exists, or, selectFrom }) =>
      or([
        exists(selectFrom('knowledge_items as i').where('i.kbId', '=', kbId).select('i.id')),
        exists(selectFrom('knowledge_sources as s').where('s.kbId', '=', kbId).select('s.id')),
      ]).as('isLeft'),
    ),
  );
  if (left?.isLeft !== false) return false;
  for (const table of ['knowledge_grants', 'knowledge_policies', 'knowledge_base_counters'] as const)
    await change(tx.em, query.deleteFrom(table).where('kbId', '=', kbId));
  await change(
    tx.em,
    query
      .updateTable('knowledge_bases')
      .set((eb) => ({
        deletedAt: eb.fn.coalesce('deletedAt', now),
        updatedAt: now,
        version: eb('version', '+', 1),
        name: '',
        slug: sql<string>`id::text`,
        subjectKind: null,
        subjectId: null,
      }))
      .where('id', '=', kbId),
  );
  return true;
}
