import Type, { type Static } from 'typebox';
import { knowledgeItemKinds } from '../../workflows/contracts/knowledge/curation.ts';
import { knowledgeSourceKinds, knowledgeSourceStates } from '../../db/knowledge/sources/knowledge-source.entity.ts';
import type { SourceRow } from '../../db/knowledge/sources/sources.ts';
import { iso } from '../../db/sql.ts';
import {
  closed,
  exactlyOneOf,
  FreeObject,
  idOf,
  integer,
  listOf,
  nullable,
  oneOf,
  Q,
  stating,
  text,
  Timestamp,
} from '../http/input/schema.ts';

export const BaseSourcesParams = closed({ kb_id: idOf('KnowledgeBase') });
export const SourceParams = closed({ source_id: idOf('KnowledgeSource') });

const Warning = closed(
  { code: text(60), detail: text(500) },
  { $id: 'KnowledgeSourceWarning', description: 'Something in the file that could not be used as it is; the rest was' },
);

const SourceError = closed(
  {
    code: text(60),
    stage: text(40),
    detail: text(500),
    item_id: nullable(idOf('KnowledgeItem')),
    chunk_ord: nullable(integer()),
  },
  { $id: 'KnowledgeSourceError', description: 'Why a source failed' },
);

export const KnowledgeSourceView = closed(
  {
    id: idOf('KnowledgeSource'),
    kb_id: idOf('KnowledgeBase'),
    kind: oneOf(knowledgeSourceKinds),
    title: nullable(text(300)),
    uri: nullable(text(2_000)),
    attachment_id: nullable(idOf('Attachment')),
    media_type: nullable(text(255)),
    content_hash: nullable(text(64, { description: 'SHA-256 of its bytes at the last sync, hexadecimal' })),
    extractor: nullable(text(120, { description: 'The parser that created its items, and how they were chunked' })),
    state: oneOf(knowledgeSourceStates),
    item_count: integer(),
    chunk_count: integer(),
    token_count: integer(),
    warnings: listOf(Warning, { maxItems: 20 }),
    error: nullable(SourceError),
    run_id: nullable(idOf('KnowledgeRun', 'The run of its last sync')),
    last_synced_at: nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'KnowledgeSourceView', description: 'A file, a page or a text from which items are created' },
);

export const KnowledgeSourceCreate = stating(
  closed(
    {
      attachment_id: Type.Optional(idOf('Attachment', 'A file that is ready')),
      url: Type.Optional(text(2_000, { minLength: 1, description: 'A page or file at an http or https address' })),
      text: Type.Optional(text(1_000_000, { minLength: 1, description: 'Markdown' })),
      title: Type.Optional(nullable(text(300))),
      metadata: Type.Optional(FreeObject),
      tags: Type.Optional(listOf(text(60, { minLength: 1 }), { maxItems: 30 })),
      kind: Type.Optional(oneOf(knowledgeItemKinds, { description: 'Of its items' })),
    },
    { $id: 'KnowledgeSourceCreate', description: 'Exactly one of attachment_id, url and text' },
  ),
  exactlyOneOf('attachment_id', 'url', 'text'),
);

export const SourceFilters = closed({
  state: Type.Optional(oneOf(knowledgeSourceStates, { description: 'Only sources in this ingestion state' })),
  kind: Type.Optional(oneOf(knowledgeSourceKinds, { description: 'Only sources of this kind' })),
  q: Type.Optional(Q),
});

export const SourceDelete = closed({
  keep_items: Type.Optional(Type.Boolean({ description: 'Keeps its items, without a source', default: false })),
});

/** The view of a source. */
export function toKnowledgeSourceView(row: SourceRow): Static<typeof KnowledgeSourceView> {
  return {
    id: row.id,
    kb_id: row.kbId,
    kind: row.kind,
    title: row.title,
    uri: row.uri,
    attachment_id: row.attachmentId,
    media_type: row.mediaType,
    content_hash: row.contentHash,
    extractor: row.extractor,
    state: row.state,
    item_count: row.itemCount,
    chunk_count: row.chunkCount,
    token_count: row.tokenCount,
    warnings: row.warnings.map(({ code, detail }) => ({ code, detail })),
    error: row.error,
    run_id: row.runId,
    last_synced_at: iso(row.lastSyncedAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
