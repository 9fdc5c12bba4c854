import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A found chunk with its item, in their current state. */
export type HitRow = Awaited<ReturnType<typeof readHits>>[number];

const hits = prepared(({ chunkIds }: ParametersOf<{ readonly chunkIds: readonly string[] }>) =>
  query
    .selectFrom('knowledge_live_chunks as c')
    .innerJoin('knowledge_items as i', 'i.id', 'c.itemId')
    .leftJoin('knowledge_sources as s', (join) => join.onRef('s.id', '=', 'i.sourceId').on('s.deletedAt', 'is', null))
    .where(sql<boolean>`c.id = any(${chunkIds}::uuid[])`)
    .select([
      'c.id',
      'c.kbId',
      'c.itemId',
      'c.text',
      'c.charStart',
      'c.charEnd',
      'c.page',
      'i.sourceId',
      'i.title',
      's.uri',
      's.title as sourceTitle',
    ])
    .select(['i.curationState', 'i.trust', 'i.validFrom', 'i.validUntil', 'i.supersededById', 'i.lastUsedAt']),
);

/** Returns live chunks by their ids, in no particular order. Chunks that were deleted meanwhile are missing. */
export function readHits(tx: Pick<TenantTransaction, 'em'>, chunkIds: readonly string[]) {
  return rows(tx.em, hits({ chunkIds }));
}

/** Returns the live items of a base that a golden query names, by their ids or external ids. */
export async function findGoldenItems(
  tx: Pick<TenantTransaction, 'em'>,
  kbId: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_live_items')
      .select(['id', 'externalId'])
      .where('kbId', '=', kbId)
      .where(sql<boolean>`(id::text = any (${names}::text[]) or external_id = any (${names}::text[]))`),
  );
  return new Map(found.flatMap(({ id, externalId }) => [[id, id] as const, ...(externalId === null ? [] : [[externalId, id] as const])]));
}
