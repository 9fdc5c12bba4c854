import { sql } from 'kysely';
import type { ActorRef } from '../../actor-ref.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { itemColumns, type ItemRow } from './items.ts';
import type { KnowledgeItem } from './knowledge-item.entity.ts';
import type { BasePlace } from './write-chunks.ts';

/** The columns that a new item supplies; the rest comes from the base or has its initial value. */
export type NewItemRow = Pick<
  KnowledgeItem,
  | 'id'
  | 'sourceId'
  | 'externalId'
  | 'kind'
  | 'title'
  | 'content'
  | 'contentHash'
  | 'tags'
  | 'metadata'
  | 'fact'
  | 'evidence'
  | 'pages'
  | 'origin'
  | 'trust'
  | 'curationState'
  | 'tokenCount'
  | 'chunkCount'
  | 'indexState'
> & {
  /** Instants in their wire form. */
  readonly validFrom: string | null;
  readonly validUntil: string | null;
  readonly observedAt: string | null;
  readonly createdBy: ActorRef;
};

/** Columns that a new item supplies, and their types. */
const given = {
  id: 'uuid',
  sourceId: 'uuid',
  externalId: 'text',
  kind: 'text',
  title: 'text',
  content: 'text',
  contentHash: 'text',
  tags: 'jsonb',
  metadata: 'jsonb',
  fact: 'jsonb',
  evidence: 'jsonb',
  pages: 'jsonb',
  validFrom: 'timestamptz',
  validUntil: 'timestamptz',
  observedAt: 'timestamptz',
  origin: 'text',
  trust: 'text',
  curationState: 'text',
  tokenCount: 'int',
  chunkCount: 'int',
  indexState: 'text',
  createdBy: 'jsonb',
} as const satisfies Record<keyof NewItemRow, string>;

const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const givenNames = Object.keys(given) as (keyof NewItemRow)[]; // the object's own keys
const givenColumns = givenNames.map(snake);
/** One text for both inserts, however many items there are: their values are arrays. */
const insertSql = `
  with n as (select ${givenColumns.map((name) => (name === 'tags' ? 'array(select jsonb_array_elements_text(v.tags)) as tags' : `v.${name}`)).join(', ')}
               from unnest(${givenNames.map((name) => `?::${given[name] === 'jsonb' ? 'text' : given[name]}[]::${given[name]}[]`).join(', ')}) as v (${givenColumns.join(', ')})),
       versions as (insert into knowledge_item_versions (item_id, version, kb_id, organization_id, workspace_id, title, content, content_hash, metadata, tags, actor, created_at)
                    select n.id, 1, ?::uuid, ?::uuid, ?::uuid, n.title, n.content, n.content_hash, n.metadata, n.tags, n.created_by, now() from n)
  insert into knowledge_items (${givenColumns.join(', ')}, kb_id, organization_id, workspace_id, staged_run_id, created_at, updated_at)
  select ${givenColumns.map((name) => `n.${name}`).join(', ')}, ?::uuid, ?::uuid, ?::uuid, ?::uuid, now(), now() from n`;
const shownSql = `${insertSql} returning ${itemColumns.map((name) => `${snake(name)} as "${name}"`).join(', ')}`;

/** Writes items of a base, each with its first version, and returns them as views show them, in the given order. */
export async function insertItems(tx: Pick<TenantTransaction, 'em'>, base: BasePlace, items: readonly NewItemRow[]): Promise<ItemRow[]> {
  if (items.length === 0) return [];
  const written = await rows<ItemRow>(tx.em, shownSql, valuesOf(base, items, null));
  const order = new Map(items.map(({ id }, at) => [id, at]));
  return written.toSorted((left, right) => (order.get(left.id) ?? 0) - (order.get(right.id) ?? 0));
}

/** Like `insertItems`, for staged items that nothing shows until a run publishes them. */
export async function insertStagedItems(
  tx: Pick<TenantTransaction, 'em'>,
  base: BasePlace,
  { items, runId }: { readonly items: readonly NewItemRow[]; readonly runId: string },
): Promise<void> {
  if (items.length > 0) await change(tx.em, insertSql, valuesOf(base, items, runId));
}

function valuesOf(base: BasePlace, items: readonly NewItemRow[], stagedRunId: string | null): unknown[] {
  const place = [base.id, base.organizationId, base.workspaceId];
  const values = givenNames.map((name) =>
    items.map((item) => (given[name] === 'jsonb' && item[name] !== null ? JSON.stringify(item[name]) : item[name])),
  );
  return [...values, ...place, ...place, stagedRunId];
}

/** Keys that identify equal items: the hash of their content, or their external id. */
export interface ItemKeys {
  readonly hashes: readonly string[];
  readonly externalIds: readonly string[];
}

/** Makes other transactions that write the same items into the base wait until this one ends: by the keys for a single item, by the base for several. */
export async function lockItemKeys(tx: Pick<TenantTransaction, 'em'>, kbId: string, { hashes, externalIds }: ItemKeys): Promise<void> {
  const isSingle = hashes.length === 1;
  const own = isSingle ? [...hashes, ...externalIds.map((id) => `external ${id}`)].toSorted() : [];
  const base = isSingle
    ? sql<unknown>`pg_advisory_xact_lock_shared(hashtextextended(${kbId}, 0))`
    : sql<unknown>`pg_advisory_xact_lock(hashtextextended(${kbId}, 0))`;
  const keys = own.map((key, at) => sql<unknown>`pg_advisory_xact_lock(hashtextextended(${`${kbId} ${key}`}, 0))`.as(`key${at}`));
  await row(tx.em, query.selectNoFrom([base.as('base'), ...keys]));
}

/**
 * Returns live items of a base that share one of the keys, oldest first. Each key looks up its items separately: the planner takes a base that the
 * statistics don't know for empty, and would read all of it.
 */
export function listSameItems(tx: Pick<TenantTransaction, 'em'>, kbId: string, { hashes, externalIds }: ItemKeys) {
  const same = sql<boolean>`i.id = any(array(
    select k.id from (select ${kbId}::uuid as id offset 0) b cross join unnest(${hashes}::text[]) as h (hash)
      cross join lateral (select id from knowledge_items where kb_id = b.id and content_hash = h.hash offset 0) k
    union select k.id from (select ${kbId}::uuid as id offset 0) b cross join unnest(${externalIds}::text[]) as e (external_id)
      cross join lateral (select id from knowledge_items where kb_id = b.id and external_id = e.external_id and deleted_at is null and staged_run_id is null offset 0) k))`;
  return rows(
    tx.em,
    query.selectFrom('knowledge_live_items as i').select(['i.id', 'i.contentHash', 'i.externalId']).where(same).orderBy('i.id'),
  );
}

/** Stores the current content of an item as a version. */
export async function insertItemVersion(
  tx: Pick<TenantTransaction, 'em'>,
  item: KnowledgeItem,
  { actor, reason }: { readonly actor: ActorRef; readonly reason: string | null },
): Promise<void> {
  const { id, kbId, organizationId, workspaceId, version, title, content, contentHash, metadata, tags } = item;
  const of = { itemId: id, kbId, organizationId, workspaceId };
  await change(
    tx.em,
    query.insertInto('knowledge_item_versions').values({ ...of, version, title, content, contentHash, metadata, tags, actor, reason }),
  );
}
