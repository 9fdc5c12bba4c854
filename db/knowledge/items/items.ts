import { sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import { contains, preparedList } from '../../page-query.ts';
import { endEarly, type PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { CurationState, KnowledgeItemKind, KnowledgeOrigin } from '../../../workflows/contracts/knowledge/curation.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** An item as views show it. */
export type ItemRow = NonNullable<Awaited<ReturnType<typeof findItem>>>;

/** The columns that a view shows of an item, by property name. */
export const itemColumns = [
  'id',
  'kbId',
  'organizationId',
  'workspaceId',
  'sourceId',
  'externalId',
  'kind',
  'title',
  'content',
  'contentHash',
  'tags',
  'metadata',
  'fact',
  'evidence',
  'pages',
  'validFrom',
  'validUntil',
  'observedAt',
  'origin',
  'trust',
  'curationState',
  'supersededById',
  'predecessorItemId',
  'tokenCount',
  'chunkCount',
  'indexState',
  'indexError',
  'version',
  'rowVersion',
  'createdBy',
  'createdAt',
  'updatedAt',
  'deletedAt',
] as const;

export interface ItemFilters {
  readonly kbId: string;
  readonly curationState?: CurationState;
  readonly kind?: KnowledgeItemKind;
  readonly origin?: KnowledgeOrigin;
  readonly tag?: string;
  readonly sourceId?: string;
  readonly q?: string;
  /** Items that are valid at this time. */
  readonly validAt?: string;
  readonly includeDeleted?: true;
}

const liveItem = prepared(({ itemId }: ParametersOf<{ itemId: string }>) =>
  query
    .selectFrom('knowledge_live_items as i')
    .select([...itemColumns])
    .where('i.id', '=', itemId),
);

function findItem(tx: Pick<TenantTransaction, 'em'>, itemId: string) {
  return row(tx.em, liveItem({ itemId }));
}

/** Returns a live item of a base that the caller may read. Throws 404. */
export async function readItem(tx: Pick<TenantTransaction, 'em'>, itemId: string): Promise<ItemRow> {
  const found = await findItem(tx, itemId);
  if (!found) throw fail('not_found');
  return found;
}

const itemList = preparedList(
  ({ kbId, curationState, kind, origin, tag, sourceId, q, validAt, includeDeleted }: ParametersOf<ItemFilters>) => {
    const all = query
      .selectFrom('knowledge_items as i')
      .select([...itemColumns])
      .where('i.stagedRunId', 'is', null);
    // The view has the table's columns, so both queries have the same type.
    const live = query.selectFrom('knowledge_live_items as i').select([...itemColumns]) as unknown as typeof all;
    let items = (includeDeleted ? all : live).where('i.kbId', '=', kbId);
    if (curationState) items = items.where('i.curationState', '=', curationState);
    if (kind) items = items.where('i.kind', '=', kind);
    if (origin) items = items.where('i.origin', '=', origin);
    if (tag) items = items.where(({ ref }) => sql<boolean>`${tag} = any(${ref('i.tags')})`);
    if (sourceId) items = items.where('i.sourceId', '=', sourceId);
    if (q) items = items.where(({ ref }) => contains(q, ref('i.title')));
    if (validAt) {
      items = items.where(({ ref }) => sql<boolean>`coalesce(${ref('i.validFrom')} <= ${validAt}::timestamptz, true)`);
      items = items.where(({ ref }) => sql<boolean>`coalesce(${ref('i.validUntil')} > ${validAt}::timestamptz, true)`);
    }
    return items;
  },
  [{ column: 'i.id', type: 'uuid', descending: true }],
);

/** Characters of text after which a page ends. */
const maxPageChars = 4 * 1_024 * 1_024;

/** Lists items of a base that the caller may read, newest first. A page ends early at 4 MiB of content. */
export async function listItemRows(tx: Pick<TenantTransaction, 'em'>, filters: ItemFilters, page: PageRequest) {
  const found = await itemList(tx.em, filters, page);
  return endEarly(found, { limit: maxPageChars, sizeOf: ({ content }) => 1_000 + content.length, positionOf: ({ id }) => [id] });
}

const versionList = preparedList(
  ({ itemId }: ParametersOf<{ itemId: string }>) =>
    query
      .selectFrom('knowledge_item_versions as v')
      .where('v.itemId', '=', itemId)
      .select([
        'v.itemId',
        'v.version',
        'v.title',
        'v.content',
        'v.contentHash',
        'v.metadata',
        'v.tags',
        'v.actor',
        'v.reason',
        'v.createdAt',
      ]),
  [{ column: 'v.version', type: 'int', descending: true }],
);

/** One version of an item's content. */
export type ItemVersionRow = Awaited<ReturnType<typeof listItemVersionRows>>['items'][number];

/** Lists the versions of an item that the caller may read, newest first. A page ends early at 4 MiB. */
export async function listItemVersionRows(tx: Pick<TenantTransaction, 'em'>, itemId: string, page: PageRequest) {
  const found = await versionList(tx.em, { itemId }, page);
  const sizeOf = ({ content }: { readonly content: string }) => 1_000 + content.length;
  return endEarly(found, { limit: maxPageChars, sizeOf, positionOf: ({ version }) => [String(version)] });
}

const chunkList = preparedList(
  ({ itemId }: ParametersOf<{ itemId: string }>) =>
    query
      .selectFrom('knowledge_live_chunks as c')
      .leftJoin('knowledge_vectors as v', 'v.chunkId', 'c.id')
      .where('c.itemId', '=', itemId)
      .select(['c.id', 'c.itemId', 'c.ord', 'c.text', 'c.context', 'c.charStart', 'c.charEnd', 'c.page', 'c.tokenCount', 'c.contentHash'])
      .select(['v.embeddingModel', 'v.createdAt as embeddedAt']),
  [{ column: 'c.ord', type: 'int', descending: false }],
);

/** A chunk with the model of its vector. */
export type ItemChunkRow = Awaited<ReturnType<typeof listItemChunkRows>>['items'][number];

/** Lists the chunks of an item that the caller may read, in order. */
export function listItemChunkRows(tx: Pick<TenantTransaction, 'em'>, itemId: string, page: PageRequest) {
  return chunkList(tx.em, { itemId }, page);
}
