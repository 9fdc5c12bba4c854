import { sql } from 'kysely';
import type { ActorRef } from '../../actor-ref.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
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

const givenNames = Object.keys(given) as (keyof NewItemRow)[]; // the object's own keys
const placeNames = ['kbId', 'organizationId', 'workspaceId'] as const;
const versionNames = [...placeNames, 'title', 'content', 'contentHash', 'metadata', 'tags'] as const;

/** New items as one list for each column, and where they lie. */
type NewItems = { readonly [N in keyof NewItemRow]: readonly unknown[] } & {
  readonly kbId: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly stagedRunId: string | null;
};

/** The new items as a table. JSON is passed as text, and tags as JSON, because a list of lists would have to be rectangular. */
function newRows({ kbId, organizationId, workspaceId, ...lists }: ParametersOf<NewItems>) {
  const columns = givenNames.map((name) => sql.ref(name));
  const values = givenNames.map((name) => {
    const type = sql.raw(given[name]);
    return given[name] === 'jsonb' ? sql`${lists[name]}::text[]::jsonb[]` : sql`${lists[name]}::${type}[]`;
  });
  const selected = givenNames.map((name) =>
    name === 'tags' ? sql`array(select jsonb_array_elements_text(v.tags)) as tags` : sql.ref(`v.${name}`),
  );
  return sql<NewItemRow & Pick<KnowledgeItem, (typeof placeNames)[number]>>`(
    select ${sql.join(selected)}, ${kbId}::uuid as kb_id, ${organizationId}::uuid as organization_id, ${workspaceId}::uuid as workspace_id
      from unnest(${sql.join(values)}) as v (${sql.join(columns)}))`;
}

/** One text however many items there are: their values are lists. */
function insertOf(items: ParametersOf<NewItems>) {
  return query
    .with('n', () => newRows(items))
    .with('versions', (of) =>
      of
        .insertInto('knowledge_item_versions')
        .columns(['itemId', 'version', ...versionNames, 'actor', 'createdAt'])
        .expression(({ selectFrom }) =>
          selectFrom('n')
            .select(['n.id as itemId', sql.lit(1).as('version')])
            .select(versionNames.map((name) => `n.${name}` as const))
            .select(['n.createdBy as actor', sql<string>`now()`.as('createdAt')]),
        ),
    )
    .insertInto('knowledge_items')
    .columns([...givenNames, ...placeNames, 'stagedRunId', 'createdAt', 'updatedAt'])
    .expression(({ selectFrom }) =>
      selectFrom('n')
        .select([...givenNames, ...placeNames].map((name) => `n.${name}` as const))
        .select([sql<string | null>`${items.stagedRunId}::uuid`.as('stagedRunId')])
        .select([sql<string>`now()`.as('createdAt'), sql<string>`now()`.as('updatedAt')]),
    );
}

const insertShown = prepared((items: ParametersOf<NewItems>) => insertOf(items).returning([...itemColumns]));
const insertHidden = prepared((items: ParametersOf<NewItems>) => insertOf(items));

/** Writes items of a base, each with its first version, and returns them as views show them, in the given order. */
export async function insertItems(tx: Pick<TenantTransaction, 'em'>, base: BasePlace, items: readonly NewItemRow[]): Promise<ItemRow[]> {
  if (items.length === 0) return [];
  const written = await rows(tx.em, insertShown(listsOf(base, items, null)));
  const order = new Map(items.map(({ id }, at) => [id, at]));
  return written.toSorted((left, right) => (order.get(left.id) ?? 0) - (order.get(right.id) ?? 0));
}

/** Like `insertItems`, for staged items that nothing shows until a run publishes them. */
export async function insertStagedItems(
  tx: Pick<TenantTransaction, 'em'>,
  base: BasePlace,
  { items, runId }: { readonly items: readonly NewItemRow[]; readonly runId: string },
): Promise<void> {
  if (items.length > 0) await change(tx.em, insertHidden(listsOf(base, items, runId)));
}

function listsOf(base: BasePlace, items: readonly NewItemRow[], stagedRunId: string | null): NewItems {
  const listOf = (name: keyof NewItemRow) =>
    items.map((item) => (given[name] === 'jsonb' && item[name] !== null ? JSON.stringify(item[name]) : item[name]));
  const lists = Object.fromEntries(givenNames.map((name) => [name, listOf(name)])) as Record<keyof NewItemRow, unknown[]>; // one for each name
  return { ...lists, kbId: base.id, organizationId: base.organizationId, workspaceId: base.workspaceId, stagedRunId };
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
