import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sweepUnusedEmbeddings } from '../../../db/knowledge/items/embedding-cache.ts';

/** Drops unused vectors of the embedding cache: at most `limit`, of all organizations; returns how many. Their texts are embedded again when they recur. */
export function dropUnusedEmbeddings(em: SqlEntityManager, limit: number): Promise<number> {
  return sweepUnusedEmbeddings(em, limit);
}
