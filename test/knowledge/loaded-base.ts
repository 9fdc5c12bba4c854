import type pg from 'pg';
import { newId } from '../../db/ids.ts';
import { lexemePrefix } from '../../db/knowledge/search/lexeme-prefix.ts';
import { minIndexedChunks, vectorIndexName } from '../../db/knowledge/search/vector-index.ts';

/** Shares of the chunks, in per mille, that the tag `share-<n>` names. */
export const shares = [1, 10, 100, 300, 500, 1_000] as const;
export const loadedDim = 16;
export const loadedModel = 'test-16';

export interface LoadedBase {
  readonly id: string;
  readonly lexNo: number;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/**
 * A base of so many items of one chunk each, written past the API: the word `common` in each, `often` in 29 of a hundred, `w<n>` in one of fifty, `rare` in five;
 * tags by share; vectors
 * that only depend on the item's number.
 */
export async function loadBase(admin: pg.ClientBase, tenant: Omit<LoadedBase, 'id' | 'lexNo'>, count: number): Promise<LoadedBase> {
  const id = newId();
  const { organizationId, workspaceId } = tenant;
  const { rows } = await admin.query<{ lex_no: number }>(
    `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, embedding_model, embedding_dim, activated_at)
     values ($1, 'workspace', $2, $3, $4, 'Loaded', 'documents', $5, $6, now()) returning lex_no`,
    [id, organizationId, workspaceId, `loaded-${id}`, loadedModel, loadedDim],
  );
  const base = { id, lexNo: rows[0]?.lex_no ?? 0, organizationId, workspaceId };
  const place = `'${base.organizationId}'::uuid, '${base.workspaceId}'::uuid`;
  const prefix = lexemePrefix(base.lexNo);
  const idOf = (kind: string) => `overlay(md5('${base.id}${kind}' || n) placing '7' from 13)::uuid`;
  const tags = `array_remove(array[${shares.map((share) => `case when n % 1000 < ${share} then 'share-${share}' end`).join(', ')}], null)`;
  await admin.query(
    `insert into knowledge_items (id, kb_id, organization_id, workspace_id, kind, title, content, content_hash, tags, metadata, origin, trust, curation_state, chunk_count, index_state, created_by)
     select ${idOf('i')}, '${base.id}', ${place}, 'document', 'Item ' || n, 'common w' || n % 50, md5(n::text), ${tags}, jsonb_build_object('n', n), 'human', 'workspace', 'reviewed', 1, 'ready', '{"kind":"system","id":null}'
     from generate_series(0, ${count - 1}) n`,
  );
  const rare = `case when n % ${Math.ceil(count / 5)} = 3 then ' ''${prefix}rare'':3' else '' end`;
  const often = `case when n % 100 < 29 then ' ''${prefix}often'':4' else '' end`;
  await admin.query(
    `insert into knowledge_chunks (id, kb_id, organization_id, workspace_id, item_id, ord, text, char_start, char_end, token_count, content_hash, lexemes, lex_len)
     select ${idOf('c')}, '${base.id}', ${place}, ${idOf('i')}, 0, 'common w' || n % 50, 0, 8, 2, md5(n::text), ('''${prefix}common'':1 ''${prefix}w' || n % 50 || ''':2' || ${rare} || ${often})::tsvector, 2
     from generate_series(0, ${count - 1}) n`,
  );
  await admin.query(
    `insert into knowledge_vectors (chunk_id, item_id, kb_id, organization_id, workspace_id, embedding_model, embedding_dim, embedding)
     select ${idOf('c')}, ${idOf('i')}, '${base.id}', ${place}, '${loadedModel}', ${loadedDim},
       (select array_agg(sin(n * (d + 1) * 0.37) + 0.2 * cos(n * 0.11 * d)) from generate_series(1, ${loadedDim}) d)::real[]::halfvec
     from generate_series(0, ${count - 1}) n`,
  );
  await admin.query(
    `insert into knowledge_terms (kb_id, lexeme, organization_id, workspace_id, df)
     select kb_id, split_part(word, ':', 2), ${place}, count(*)::int from knowledge_chunks c, unnest(tsvector_to_array(c.lexemes)) word where kb_id = $1 group by 1, 2`,
    [base.id],
  );
  await admin.query(
    `insert into knowledge_base_counters (kb_id, organization_id, workspace_id, reviewed, chunks, tokens, lex_len) values ($1, ${place}, ${count}, ${count}, ${2 * count}, ${2 * count})`,
    [base.id],
  );
  return base;
}

/** The index that a base of more than 20,000 chunks has. */
export async function indexVectors(admin: pg.ClientBase, { id }: LoadedBase): Promise<void> {
  await admin.query(
    `create index ${vectorIndexName(id)} on knowledge_vectors using hnsw ((embedding::halfvec(${loadedDim})) halfvec_cosine_ops) with (m = 16, ef_construction = 64) where kb_id = '${id}'`,
  );
  await admin.query('analyze knowledge_vectors, knowledge_chunks, knowledge_items, knowledge_bases');
}

/** As many chunks as an index begins to serve at. */
export const indexedCount = minIndexedChunks + 2_000;
