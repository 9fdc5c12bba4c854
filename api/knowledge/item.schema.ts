import Type, { type Static } from 'typebox';
import type { ItemChunkRow, ItemRow, ItemVersionRow } from '../../db/knowledge/items/items.ts';
import { knowledgeEvidenceKinds, knowledgeIndexStates, knowledgeTrusts } from '../../db/knowledge/items/knowledge-item.entity.ts';
import { knowledgeItemKinds, knowledgeOrigins, curationStates } from '../../workflows/contracts/knowledge/curation.ts';
import { knowledgeSubjectKinds } from '../../db/knowledge/bases/knowledge-base.entity.ts';
import { iso } from '../../db/sql.ts';
import { onDuplicates } from '../../domain/knowledge/items/create-items.ts';
import { ActorRef, closed, FreeObject, idOf, integer, listOf, nullable, oneOf, Q, text, Timestamp } from '../http/input/schema.ts';

export const BaseItemsParams = closed({ kb_id: idOf('KnowledgeBase') });
export const ItemParams = closed({ item_id: idOf('KnowledgeItem') });

const Content = text(200_000, { minLength: 1 });
const Title = text(300);
const Tags = listOf(text(60, { minLength: 1 }), { maxItems: 30 });
const Hash = text(64, { minLength: 64, description: 'SHA-256, hexadecimal, of the text in NFC with \\n at the ends of its lines' });
const factText = text(200, { minLength: 1 });
const subjectId = text(200, { minLength: 1 });

const Fact = closed(
  { subject: factText, relation: factText, object: factText },
  { $id: 'KnowledgeFact', description: 'A fact as three texts; facts with equal subject and relation can contradict each other' },
);

const Evidence = closed(
  {
    kind: oneOf(knowledgeEvidenceKinds),
    ref: text(2_000, { description: 'Id of the run, source, message or item; address of a page' }),
    quote: nullable(text(1_000)),
    observed_at: nullable(Timestamp),
    subject_kind: nullable(oneOf(knowledgeSubjectKinds)),
    subject_id: nullable(subjectId),
  },
  { $id: 'KnowledgeEvidence', description: 'Where a statement comes from' },
);

const EvidenceInput = closed(
  {
    kind: oneOf(knowledgeEvidenceKinds),
    ref: text(2_000, { minLength: 1 }),
    quote: Type.Optional(nullable(text(1_000))),
    observed_at: Type.Optional(nullable(Timestamp)),
    subject_kind: Type.Optional(nullable(oneOf(knowledgeSubjectKinds))),
    subject_id: Type.Optional(nullable(subjectId)),
  },
  { $id: 'KnowledgeEvidenceInput' },
);

const changeable = {
  title: Type.Optional(nullable(Title)),
  kind: Type.Optional(oneOf(knowledgeItemKinds, { description: 'fact in memory bases, else document' })),
  tags: Type.Optional(Tags),
  metadata: Type.Optional(FreeObject),
  fact: Type.Optional(nullable(Fact)),
  evidence: Type.Optional(listOf(EvidenceInput, { maxItems: 50 })),
  valid_until: Type.Optional(nullable(Timestamp)),
};

const created = {
  content: Content,
  ...changeable,
  external_id: Type.Optional(nullable(text(200, { minLength: 1, description: 'Unique in the base, among live items' }))),
  valid_from: Type.Optional(nullable(Timestamp)),
  observed_at: Type.Optional(nullable(Timestamp)),
  curation_state: Type.Optional(oneOf(['pending', 'reviewed'], { description: 'Defaults to reviewed' })),
};

const OnDuplicateField = Type.Optional(
  oneOf(onDuplicates, {
    default: 'return_existing',
    description: 'What to do if a live item of the base has this content or external id; allow permits duplicate content',
  }),
);

export const KnowledgeItemCreate = closed({ ...created, on_duplicate: OnDuplicateField }, { $id: 'KnowledgeItemCreate' });

const ItemInput = closed(created, { $id: 'KnowledgeItemInput' });

export const KnowledgeItemsCreate = closed(
  { items: listOf(ItemInput, { minItems: 1, maxItems: 500 }), on_duplicate: OnDuplicateField },
  { $id: 'KnowledgeItemsCreate' },
);

export const KnowledgeItemUpdate = closed(
  {
    content: Type.Optional(Content),
    ...changeable,
    reason: Type.Optional(nullable(text(500, { description: 'Kept with the version' }))),
  },
  { $id: 'KnowledgeItemUpdate' },
);

export const KnowledgeItemView = closed(
  {
    id: idOf('KnowledgeItem'),
    kb_id: idOf('KnowledgeBase'),
    source_id: nullable(idOf('Other')),
    external_id: nullable(text(200)),
    kind: oneOf(knowledgeItemKinds),
    title: nullable(Title),
    content: Content,
    tags: Tags,
    metadata: FreeObject,
    fact: nullable(Fact),
    evidence: listOf(Evidence, { maxItems: 50 }),
    valid_from: nullable(Timestamp),
    valid_until: nullable(Timestamp),
    observed_at: nullable(Timestamp),
    origin: oneOf(knowledgeOrigins),
    curation_state: oneOf(curationStates),
    superseded_by_id: nullable(idOf('KnowledgeItem')),
    predecessor_item_id: nullable(idOf('KnowledgeItem', 'The item of the previous base from which a re-embed copied it')),
    trust: oneOf(knowledgeTrusts),
    content_hash: Hash,
    token_count: integer(),
    chunk_count: integer(),
    index_state: oneOf(knowledgeIndexStates, { description: 'pending: so far, searches can find it lexically at most' }),
    index_error: nullable(text(500)),
    version: integer({ minimum: 1 }),
    created_by: ActorRef,
    deleted_at: nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'KnowledgeItemView', description: 'A document, fact or memory of a knowledge base' },
);

const Outcome = closed(
  {
    index: integer({ description: 'Position of the item in the body, from 0' }),
    status: oneOf(['created', 'existing', 'failed']),
    item_id: nullable(idOf('KnowledgeItem')),
    error: nullable(text(500, { description: 'For a failed item, the code of the error' })),
  },
  { $id: 'KnowledgeItemOutcome' },
);

export const KnowledgeItemBatchView = closed(
  {
    created: integer(),
    existing: integer(),
    failed: integer(),
    outcomes: listOf(Outcome, { maxItems: 500 }),
  },
  { $id: 'KnowledgeItemBatchView', description: 'The outcome of each item of a batch, in order' },
);

export const KnowledgeItemVersionView = closed(
  {
    item_id: idOf('KnowledgeItem'),
    version: integer({ minimum: 1 }),
    title: nullable(Title),
    content: Content,
    content_hash: Hash,
    metadata: FreeObject,
    tags: Tags,
    actor: ActorRef,
    reason: nullable(text(500)),
    created_at: Timestamp,
  },
  { $id: 'KnowledgeItemVersionView', description: 'The content of one version of an item' },
);

export const KnowledgeChunkView = closed(
  {
    id: idOf('Other'),
    item_id: idOf('KnowledgeItem'),
    ord: integer({ description: 'Position in the item, from 0' }),
    text: text(200_000, { description: 'Exactly the content from char_start to char_end' }),
    context: nullable(text(2_000, { description: 'Title, headings and table header above it; searched, but not quoted' })),
    char_start: integer({ description: 'In Unicode code points' }),
    char_end: integer(),
    page: nullable(integer({ minimum: 1 })),
    token_count: integer(),
    content_hash: Hash,
    embedding_model: nullable(text(120)),
    embedded_at: nullable(Timestamp),
  },
  { $id: 'KnowledgeChunkView', description: 'A part of an item that searches find' },
);

export const ItemFilters = closed({
  curation_state: Type.Optional(oneOf(curationStates, { description: 'Only items in this state' })),
  kind: Type.Optional(oneOf(knowledgeItemKinds, { description: 'Only items of this kind' })),
  origin: Type.Optional(oneOf(knowledgeOrigins, { description: 'Only items that came in this way' })),
  tag: Type.Optional(text(60, { minLength: 1, description: 'Only items with this tag' })),
  source_id: Type.Optional(idOf('Other', 'Only items of this source')),
  q: Type.Optional(Q),
  valid_at: Type.Optional(Type.String({ format: 'date-time', description: 'Only items that hold at this time' })),
  include_deleted: Type.Optional(Type.Boolean({ default: false, description: 'Shows deleted items too; only for admins' })),
});

export type KnowledgeItemCreateBody = Static<typeof KnowledgeItemCreate>;
export type KnowledgeItemsCreateBody = Static<typeof KnowledgeItemsCreate>;
export type KnowledgeItemUpdateBody = Static<typeof KnowledgeItemUpdate>;

/** The wire form of an item. */
export function toKnowledgeItemView(row: ItemRow) {
  return {
    id: row.id,
    kb_id: row.kbId,
    source_id: row.sourceId,
    external_id: row.externalId,
    kind: row.kind,
    title: row.title,
    content: row.content,
    tags: [...row.tags],
    metadata: { ...row.metadata },
    fact: row.fact,
    evidence: [...row.evidence],
    valid_from: iso(row.validFrom),
    valid_until: iso(row.validUntil),
    observed_at: iso(row.observedAt),
    origin: row.origin,
    curation_state: row.curationState,
    superseded_by_id: row.supersededById,
    predecessor_item_id: row.predecessorItemId,
    trust: row.trust,
    content_hash: row.contentHash,
    token_count: row.tokenCount,
    chunk_count: row.chunkCount,
    index_state: row.indexState,
    index_error: row.indexError,
    version: row.version,
    created_by: row.createdBy,
    deleted_at: iso(row.deletedAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** The wire form of one version of an item. */
export function toKnowledgeItemVersionView(row: ItemVersionRow) {
  return {
    item_id: row.itemId,
    version: row.version,
    title: row.title,
    content: row.content,
    content_hash: row.contentHash,
    metadata: { ...row.metadata },
    tags: [...row.tags],
    actor: row.actor,
    reason: row.reason,
    created_at: iso(row.createdAt),
  };
}

/** The wire form of a chunk. */
export function toKnowledgeChunkView(row: ItemChunkRow) {
  return {
    id: row.id,
    item_id: row.itemId,
    ord: row.ord,
    text: row.text,
    context: row.context,
    char_start: row.charStart,
    char_end: row.charEnd,
    page: row.page,
    token_count: row.tokenCount,
    content_hash: row.contentHash,
    embedding_model: row.embeddingModel,
    embedded_at: iso(row.embeddedAt),
  };
}
