import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeBase } from '../bases/knowledge-base.entity.ts';
import type { BaseModel } from '../items/write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A base that a re-embed reads or fills. */
export type ReembeddedBase = BaseModel & Pick<KnowledgeBase, 'lexNo' | 'chunking' | 'retrieval'>;

/** The base that a re-embed reads, and the base that it fills. */
export interface BasePair {
  readonly from: ReembeddedBase;
  readonly to: ReembeddedBase;
}

/** Returns both bases; null when either no longer exists. */
export async function readBasePair(tx: Tx, { fromId, toId }: { readonly fromId: string; readonly toId: string }): Promise<BasePair | null> {
  const found = await rows<ReembeddedBase>(
    tx.em,
    `select id, organization_id as "organizationId", workspace_id as "workspaceId", embedding_model as "embeddingModel",
            embedding_dim as "embeddingDim", lex_no as "lexNo", chunking, retrieval
       from knowledge_bases where id = any (?::uuid[]) and deleted_at is null`,
    [[fromId, toId]],
  );
  const from = found.find(({ id }) => id === fromId);
  const to = found.find(({ id }) => id === toId);
  return from && to ? { from, to } : null;
}

/** Returns the counted chunks of a base's live items. */
export async function countChunks(tx: Tx, kbId: string): Promise<number> {
  const found = await row<{ total: number }>(tx.em, 'select chunks as total from knowledge_base_counters where kb_id = ?', [kbId]);
  return found?.total ?? 0;
}

/** Returns random chunks of a base with their vectors. */
export function sampleChunks(tx: Tx, kbId: string, limit: number) {
  return rows<{ id: string; context: string | null; text: string; embedding: string }>(
    tx.em,
    `select c.id, c.context, c.text, v.embedding::text as embedding
       from (select chunk_id, embedding from knowledge_vectors where kb_id = ? order by random() limit ?) v join knowledge_chunks c on c.id = v.chunk_id order by c.id`,
    [kbId, limit],
  );
}
