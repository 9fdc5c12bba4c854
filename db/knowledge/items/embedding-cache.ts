import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { toHalfvec } from './write-chunks.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';

/** Whose cache, and which model. */
export interface CacheKey {
  readonly organizationId: string;
  readonly model: string;
  readonly revision: string;
}

/** A vector and the SHA-256 (hex) of the text that it was computed from. */
export interface CachedVector {
  readonly sha256: string;
  readonly embedding: Float32Array;
}

/** Returns those of the texts' vectors that are cached, and counts them as used today. */
export async function readCachedVectors(
  tx: Pick<TenantTransaction, 'em'>,
  key: CacheKey,
  hashes: readonly string[],
): Promise<CachedVector[]> {
  if (hashes.length === 0) return [];
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_embedding_cache as c')
      .where('c.organizationId', '=', key.organizationId)
      .where('c.model', '=', key.model)
      .where('c.revision', '=', key.revision)
      .where(sql<boolean>`c.sha256 = any(${[...hashes]}::text[])`)
      .select(['c.sha256', sql<string>`c.embedding::text`.as('embedding'), sql<boolean>`c.used_at < now() - interval '1 day'`.as('isOld')]),
  );
  const old = found.flatMap(({ sha256, isOld }) => (isOld ? [sha256] : []));
  if (old.length > 0) await touch(tx, key, old);
  return found.map(({ sha256, embedding }) => ({ sha256, embedding: fromHalfvec(embedding) }));
}

async function touch(tx: Pick<TenantTransaction, 'em'>, key: CacheKey, hashes: readonly string[]): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_embedding_cache')
      .set({ usedAt: sql<string>`now()` })
      .where('organizationId', '=', key.organizationId)
      .where('model', '=', key.model)
      .where('revision', '=', key.revision)
      .where(sql<boolean>`sha256 = any(${[...hashes]}::text[])`),
  );
}

/** Stores vectors; existing ones stay. One statement, in the order of the hashes, so that two writers never deadlock. */
export async function storeCachedVectors(
  tx: Pick<TenantTransaction, 'em'>,
  key: CacheKey,
  vectors: readonly CachedVector[],
): Promise<void> {
  if (vectors.length === 0) return;
  const hashes = vectors.map(({ sha256 }) => sha256);
  const texts = vectors.map(({ embedding }) => toHalfvec(embedding));
  await change(
    tx.em,
    query
      .insertInto('knowledge_embedding_cache')
      .columns(['organizationId', 'model', 'revision', 'sha256', 'embedding', 'usedAt', 'createdAt'])
      .expression(
        query
          .selectFrom(sql<{ hash: string; text: string }>`unnest(${hashes}::text[], ${texts}::text[])`.as<'v'>(sql`v (hash, text)`))
          .select([
            sql<string>`${key.organizationId}::uuid`.as('organizationId'),
            sql<string>`${key.model}::text`.as('model'),
            sql<string>`${key.revision}::text`.as('revision'),
            'v.hash as sha256',
            sql<string>`v.text::halfvec`.as('embedding'),
            sql<string>`now()`.as('usedAt'),
            sql<string>`now()`.as('createdAt'),
          ])
          .orderBy('v.hash'),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}

/** Parses a halfvec's text, `[0.5,-1]`. */
export function fromHalfvec(text: string): Float32Array {
  return Float32Array.from(text.slice(1, -1).split(','), Number);
}

/** Deletes up to `limit` cached vectors, of all organizations, that have not been used for 30 days; returns their number. */
export function sweepUnusedEmbeddings(em: SqlEntityManager, limit: number): Promise<number> {
  const key = ['organizationId', 'model', 'revision', 'sha256'] as const;
  return change(
    em,
    query.deleteFrom('knowledge_embedding_cache').where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple(...key),
        'in',
        selectFrom('knowledge_embedding_cache as c')
          .select(['c.organizationId', 'c.model', 'c.revision', 'c.sha256'])
          .where('c.usedAt', '<', sql<string>`now() - interval '30 days'`)
          .limit(limit)
          .$asTuple(...key),
      ),
    ),
  );
}
