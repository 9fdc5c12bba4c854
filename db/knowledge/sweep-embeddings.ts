import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change } from '../sql.ts';

/** Deletes up to `limit` vectors of the embedding cache, of all organizations, that nobody has used for 30 days; gives how many. */
export function sweepUnusedEmbeddings(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    `delete from knowledge_embedding_cache where (organization_id, model, revision, sha256) in (
       select organization_id, model, revision, sha256 from knowledge_embedding_cache where used_at < now() - interval '30 days' limit ?)`,
    [limit],
  );
}
