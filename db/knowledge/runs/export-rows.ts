import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Limits of one read: the number of rows, and the characters after which no further row is added. */
const pageMax = 500;
const pageChars = 4_000_000;

/** Returns a base's description for the bundle; null when the base is deleted. */
export function exportedBase(tx: Tx, kbId: string) {
  return row(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where('b.id', '=', kbId)
      .where('b.deletedAt', 'is', null)
      .select(['b.id', 'b.slug', 'b.name', 'b.kind', 'b.embeddingModel', 'b.embeddingDim', 'b.chunking', 'b.retrieval']),
  );
}

/** Returns how much a base holds now. */
export async function countExported(tx: Tx, kbId: string) {
  const found = await row<{ sources: number; items: number; relations: number }>(
    tx.em,
    `select (select count(*)::int from knowledge_sources where kb_id = ?::uuid and deleted_at is null) as sources,
            (select count(*)::int from knowledge_live_items where kb_id = ?::uuid) as items,
            (select count(*)::int from knowledge_relations where kb_id = ?::uuid) as relations`,
    [kbId, kbId, kbId],
  );
  return found ?? { sources: 0, items: 0, relations: 0 };
}

/** Returns the next sources of a base, by id. */
export function exportedSources(tx: Tx, kbId: string, after: string | null) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_sources as s')
      .where('s.kbId', '=', kbId)
      .where('s.deletedAt', 'is', null)
      .$if(after !== null, (of) => of.where('s.id', '>', after ?? ''))
      .select([
        's.id',
        's.kind',
        's.title',
        's.uri',
        's.text',
        's.itemKind',
        's.tags',
        's.metadata',
        's.mediaType',
        's.contentHash',
        's.createdAt',
      ])
      .orderBy('s.id')
      .limit(20),
  );
}

export type ExportedSource = Awaited<ReturnType<typeof exportedSources>>[number];

/** Returns the next live items of a base, by id. */
export async function exportedItems(tx: Tx, kbId: string, after: string | null) {
  const page = await rows<{ id: string }>(
    tx.em,
    `select id from (select i.id, sum(length(i.content)) over (order by i.id) - length(i.content) as before from knowledge_live_items i
       where i.kb_id = ?::uuid and (?::uuid is null or i.id > ?::uuid) order by i.id limit ?) p where p.before < ?`,
    [kbId, after, after, pageMax, pageChars],
  );
  if (page.length === 0) return [];
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_live_items as i')
      .where(
        'i.id',
        'in',
        page.map(({ id }) => id),
      )
      .select([
        'i.id',
        'i.sourceId',
        'i.externalId',
        'i.kind',
        'i.title',
        'i.content',
        'i.tags',
        'i.metadata',
        'i.fact',
        'i.evidence',
        'i.pages',
      ])
      .select(['i.validFrom', 'i.validUntil', 'i.observedAt', 'i.origin', 'i.trust', 'i.curationState', 'i.supersededById', 'i.createdAt'])
      .orderBy('i.id'),
  );
}

export type ExportedItem = Awaited<ReturnType<typeof exportedItems>>[number];

/** Returns the vectors of items' chunks, by item and position. */
export function exportedVectors(tx: Tx, itemIds: readonly string[]) {
  return rows<{ itemId: string; ord: number; contentHash: string; embedding: string }>(
    tx.em,
    `select c.item_id as "itemId", c.ord, c.content_hash as "contentHash", v.embedding::text as embedding
       from knowledge_chunks c join knowledge_vectors v on v.chunk_id = c.id where c.item_id = any (?::uuid[]) order by c.item_id, c.ord`,
    [[...itemIds]],
  );
}

/** Returns the next relations of a base, by id. */
export function exportedRelations(tx: Tx, kbId: string, after: string | null) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_relations as r')
      .where('r.kbId', '=', kbId)
      .$if(after !== null, (of) => of.where('r.id', '>', after ?? ''))
      .select(['r.id', 'r.fromItemId', 'r.toItemId', 'r.type', 'r.note'])
      .orderBy('r.id')
      .limit(pageMax),
  );
}

/** Returns the grants of a base. */
export function exportedGrants(tx: Tx, kbId: string) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_grants as g')
      .where('g.kbId', '=', kbId)
      .select(['g.principalKind', 'g.principalId', 'g.role', 'g.access', 'g.expiresAt'])
      .orderBy('g.id'),
  );
}
