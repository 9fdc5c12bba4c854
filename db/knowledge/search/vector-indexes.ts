import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { leastIndexedChunks, minIndexedChunks } from './vector-index.ts';

type Tx = Pick<TenantTransaction, 'em'>;

const indexes = `select x.indisvalid as is_valid, replace(k.relname, 'knowledge_vectors_hnsw_', '')::uuid as kb_id
  from pg_index x join pg_class k on k.oid = x.indexrelid
 where k.relnamespace = 'public'::regnamespace and k.relname ~ '^knowledge_vectors_hnsw_[0-9a-f]{32}$'`;

/** Returns bases whose vectors should have an index but have no valid one, largest first. Sweeper's pool. */
export function basesWithoutIndex(tx: Tx, limit: number): Promise<{ kbId: string; dim: number }[]> {
  return rows(
    tx.em,
    `select b.id as "kbId", b.embedding_dim as dim from knowledge_bases b join knowledge_base_counters c on c.kb_id = b.id
      where b.deleted_at is null and b.activated_at is not null and b.embedding_dim > 0 and c.chunks > ?
        and not exists (select from (${indexes}) i where i.kb_id = b.id and i.is_valid)
      order by c.chunks desc limit ?`,
    [minIndexedChunks, limit],
  );
}

/** Returns bases whose index is no longer needed, because they have become too small or are deleted; none that is being filled. Sweeper's pool. */
export function basesWithIdleIndex(tx: Tx): Promise<{ kbId: string }[]> {
  return rows(
    tx.em,
    `select i.kb_id as "kbId" from (${indexes}) i
       left join knowledge_bases b on b.id = i.kb_id and b.deleted_at is null left join knowledge_base_counters c on c.kb_id = b.id
      where b.id is null or (b.activated_at is not null and coalesce(c.chunks, 0) < ?)`,
    [leastIndexedChunks],
  );
}
