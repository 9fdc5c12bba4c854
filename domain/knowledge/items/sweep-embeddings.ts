import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sweepUnusedEmbeddings } from '../../../db/knowledge/items/embedding-cache.ts';

/** Drops a part of what the embedding cache keeps in vain: at most `limit` vectors, of all organizations; gives how many. The texts are embedded anew when they come again. */
export function dropUnusedEmbeddings(em: SqlEntityManager, limit: number): Promise<number> {
  return sweepUnusedEmbeddings(em, limit);
}
