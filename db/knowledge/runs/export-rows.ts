import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { charsBefore } from './chars-before.ts';

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
  const sources = query.selectFrom('knowledge_sources as s').where('s.kbId', '=', kbId).where('s.deletedAt', 'is', null);
  const items = query.selectFrom('knowledge_live_items as i').where('i.kbId', '=', kbId);
  const relations = query.selectFrom('knowledge_relations as r').where('r.kbId', '=', kbId);
  const count = sql<number>`count(*)`.as('n');
  const found = await row(
    tx.em,
    query.selectNoFrom([
      sources.select(count).$asScalar().$notNull().as('sources'),
      items.select(count).$asScalar().$notNull().as('items'),
      relations.select(count).$asScalar().$notNull().as('relations'),
    ]),
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
  const next = query
    .selectFrom('knowledge_live_items as i')
    .where('i.kbId', '=', kbId)
    .$if(after !== null, (of) => of.where('i.id', '>', after ?? ''))
    .select(['i.id', charsBefore])
    .orderBy('i.id')
    .limit(pageMax);
  const page = await rows(tx.em, query.selectFrom(next.as('p')).where('p.before', '<', pageChars).select('p.id'));
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
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_chunks as c')
      .innerJoin('knowledge_vectors as v', 'v.chunkId', 'c.id')
      .where('c.itemId', '=', anyId(itemIds))
      .select(['c.itemId', 'c.ord', 'c.contentHash', sql<string>`v.embedding::text`.as('embedding')])
      .orderBy('c.itemId')
      .orderBy('c.ord'),
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
