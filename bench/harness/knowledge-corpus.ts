import type pg from 'pg';
import { newId } from '../../db/ids.ts';
import { applyChange, emptyChange } from '../../db/knowledge/bases/base-counters.ts';
import type { Databases } from '../../db/databases.ts';
import { systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { prepareIndex, writeIndex, embeddedText } from '../../domain/knowledge/items/index-item.ts';
import type { Embedder } from '../../ports/embeddings/index.ts';
import type { CollectionDocument } from './collections.ts';

/** A base that holds the documents of a collection. */
export interface CorpusBase {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** Documents of the collection by the items that hold them. */
  readonly documents: ReadonlyMap<string, string>;
}

export interface CorpusOptions {
  readonly db: Databases;
  /** Past foreign keys and policies. */
  readonly admin: pg.ClientBase;
  readonly embedder: Embedder;
  readonly model: string;
  /** Of its texts and queries; English unless given. */
  readonly language?: string;
}

const batch = 100;

/** Fills a new base with documents, an item each, cut, lexed and embedded as the product does it. */
export async function loadCorpus(
  { db, admin, embedder, model, language = 'en' }: CorpusOptions,
  documents: readonly CollectionDocument[],
): Promise<CorpusBase> {
  const base = { id: newId(), organizationId: newId(), workspaceId: newId() };
  const retrieval = { language, vector_weight: null, include_pending: false };
  const dim = embedder.find(model)?.dim ?? 0;
  const { rows } = await admin.query<{ lex_no: number }>(
    `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, embedding_model, embedding_dim, retrieval, activated_at)
     values ($1::uuid, 'workspace', $2, $3, $1::uuid::text, 'Corpus', 'documents', $4, $5, $6, now()) returning lex_no`,
    [base.id, base.organizationId, base.workspaceId, model, dim, JSON.stringify(retrieval)],
  );
  await admin.query('insert into knowledge_base_counters (kb_id, organization_id, workspace_id) values ($1, $2, $3)', Object.values(base));
  const settings = {
    lexNo: rows[0]?.lex_no ?? 0,
    chunking: { size_tokens: 400, overlap_tokens: 40 },
    retrieval,
    embeddingModel: model,
  };
  const byItem = new Map<string, string>();
  for (let start = 0; start < documents.length; start += batch) {
    const items = documents
      .slice(start, start + batch)
      .filter(({ title, text }) => `${title}${text}`.trim() !== '')
      .map(({ id, title, text }) => ({ itemId: newId(), id, title: title.trim() || null, content: text.trim() || title.trim() }));
    await insertItems(admin, base, items);
    const prepared = await Promise.all(
      items.map(async ({ itemId, title, content }) => {
        const index = prepareIndex(settings, { title, content }, embedder);
        const texts = index.chunks.map(embeddedText);
        const vectors = dim === 0 ? [] : await embedder.embed({ model, kind: 'document', texts, signal: new AbortController().signal });
        return { itemId, prepared: { ...index, vectors } };
      }),
    );
    const options = { tenant: workspaceTenant(base.organizationId, base.workspaceId), actor: systemActor, correlationId: newId() };
    await transact(db, options, async (tx) => {
      const changes = emptyChange();
      await writeIndex(tx, { ...base, embeddingModel: model, embeddingDim: dim }, { items: prepared, changes });
      changes.states.reviewed += items.length;
      await applyChange(tx, base, changes);
    });
    for (const { itemId, id } of items) byItem.set(itemId, id);
  }
  return { ...base, documents: byItem };
}

async function insertItems(
  admin: pg.ClientBase,
  base: Omit<CorpusBase, 'documents'>,
  items: readonly { readonly itemId: string; readonly title: string | null; readonly content: string }[],
): Promise<void> {
  await admin.query(
    `insert into knowledge_items (id, kb_id, organization_id, workspace_id, kind, title, content, content_hash, origin, trust, curation_state, index_state, created_by)
     select v.id, $1, $2, $3, 'document', v.title, v.content, md5(v.content), 'human', 'workspace', 'reviewed', 'ready', '{"kind":"system","id":null}'
     from unnest($4::uuid[], $5::text[], $6::text[]) v (id, title, content)`,
    [
      base.id,
      base.organizationId,
      base.workspaceId,
      items.map(({ itemId }) => itemId),
      items.map(({ title }) => title),
      items.map(({ content }) => content),
    ],
  );
}
