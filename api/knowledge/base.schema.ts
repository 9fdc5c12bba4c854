import Type, { type Static } from 'typebox';
import type { KnowledgeBaseRow, listBaseRows } from '../../db/knowledge/bases/bases.ts';
import type { countBase } from '../../db/knowledge/bases/base-stats.ts';
import { knowledgeBaseKinds, knowledgeSubjectKinds } from '../../db/knowledge/bases/knowledge-base.entity.ts';
import { knowledgeIndexStates } from '../../db/knowledge/items/knowledge-item.entity.ts';
import { knowledgeItemKinds, knowledgeOrigins, curationStates } from '../../workflows/contracts/knowledge/curation.ts';
import { knowledgeSourceStates } from '../../db/knowledge/sources/knowledge-source.entity.ts';
import { iso } from '../../db/sql.ts';
import { lexLanguages } from '../../ports/chunking/lex-languages.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { closed, idOf, integer, listOf, Name, nullable, oneOf, Q, text, Timestamp } from '../http/input/schema.ts';

export const BaseParams = closed({ kb_id: idOf('KnowledgeBase') });

/** Slug of a base. */
export const BaseSlug = text(120, { minLength: 1, pattern: '^[a-z0-9][a-z0-9-]*$' });
const SubjectId = text(200, { minLength: 1 });
const ModelName = text(120, { minLength: 1 });
const language = oneOf(lexLanguages, { description: 'Language for stemming and stop words; none: words are indexed verbatim' });
const vectorWeight = nullable(
  Type.Number({
    minimum: 0,
    maximum: 2,
    description: 'Weight of the vector leg relative to 1 for the lexical leg; null: the default for the model',
  }),
);
const sizeTokens = integer({ minimum: 64, maximum: 1_000, description: 'Maximum number of tokens per chunk' });
const overlapTokens = integer({ minimum: 0, maximum: 200, description: 'Number of tokens that a chunk repeats from the previous one' });
const includePending = Type.Boolean({ description: 'Whether searches find items that have not been reviewed' });

const Chunking = closed({ size_tokens: sizeTokens, overlap_tokens: overlapTokens }, { $id: 'KnowledgeChunking' });
const Retrieval = closed({ language, vector_weight: vectorWeight, include_pending: includePending }, { $id: 'KnowledgeRetrieval' });
const ChunkingInput = closed(
  { size_tokens: Type.Optional(sizeTokens), overlap_tokens: Type.Optional(overlapTokens) },
  { $id: 'KnowledgeChunkingInput', description: 'Applies to whatever is indexed from now on' },
);
const RetrievalInput = closed(
  { language: Type.Optional(language), vector_weight: Type.Optional(vectorWeight), include_pending: Type.Optional(includePending) },
  { $id: 'KnowledgeRetrievalInput' },
);

const byName = (names: readonly string[]) => closed(Object.fromEntries(names.map((name) => [name, integer({ minimum: 0 })])));

export const KnowledgeBaseView = closed(
  {
    id: idOf('KnowledgeBase'),
    slug: BaseSlug,
    name: Name,
    scope: oneOf(scopes),
    kind: oneOf(knowledgeBaseKinds),
    owner_agent_id: nullable(idOf('Agent')),
    owner_persona_id: nullable(idOf('Persona')),
    is_private: Type.Boolean(),
    is_frozen: Type.Boolean(),
    embedding_model: ModelName,
    embedding_dim: integer({ minimum: 0 }),
    item_count: integer({ minimum: 0 }),
    subject_kind: nullable(oneOf(knowledgeSubjectKinds)),
    subject_id: nullable(SubjectId),
    last_consolidated_at: Type.Optional(nullable(Timestamp)),
    curation_counts: Type.Optional(nullable(byName(curationStates))),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'KnowledgeBaseView', description: 'Items that are searched together, with one embedding model' },
);

export const KnowledgeBaseCreate = closed(
  {
    slug: BaseSlug,
    name: Name,
    kind: Type.Optional(oneOf(knowledgeBaseKinds, { default: 'documents' })),
    scope: Type.Optional(nullable(oneOf(scopes))),
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
    owner_agent_id: Type.Optional(nullable(idOf('Agent', 'Its runs can read and write the base'))),
    owner_persona_id: Type.Optional(nullable(idOf('Persona', 'Runs with this persona can read and write the base'))),
    subject_kind: Type.Optional(nullable(oneOf(knowledgeSubjectKinds))),
    subject_id: Type.Optional(nullable(SubjectId)),
    is_private: Type.Optional(nullable(Type.Boolean({ description: 'Restricted to its subject, its owners and holders of a grant' }))),
    embedding_model: Type.Optional(
      nullable(text(120, { minLength: 1, description: 'Defaults to that of the deployment; none: lexical search only' })),
    ),
    chunking: Type.Optional(ChunkingInput),
    retrieval: Type.Optional(RetrievalInput),
  },
  { $id: 'KnowledgeBaseCreate' },
);

export const KnowledgeBaseUpdate = closed(
  {
    name: Type.Optional(Name),
    kind: Type.Optional(oneOf(knowledgeBaseKinds)),
    is_private: Type.Optional(Type.Boolean()),
    is_frozen: Type.Optional(Type.Boolean({ description: 'While frozen, its content cannot be changed' })),
    embedding_model: Type.Optional(text(120, { description: 'Cannot be changed (422); a re-embed creates a base with another model' })),
    chunking: Type.Optional(ChunkingInput),
    retrieval: Type.Optional(RetrievalInput),
  },
  { $id: 'KnowledgeBaseUpdate' },
);

export const KnowledgeBaseFilters = closed({
  scope: Type.Optional(oneOf(scopes, { description: 'Only bases of this scope' })),
  kind: Type.Optional(oneOf(knowledgeBaseKinds, { description: 'Only bases of this kind' })),
  owner_agent_id: Type.Optional(idOf('Agent', 'Only bases that this agent owns')),
  owner_persona_id: Type.Optional(idOf('Persona', 'Only bases that this persona owns')),
  subject_kind: Type.Optional(oneOf(knowledgeSubjectKinds, { description: 'Only bases of users, or of guests' })),
  subject_id: Type.Optional(text(200, { minLength: 1, description: 'Only bases of this user or guest' })),
  is_private: Type.Optional(Type.Boolean({ description: 'true lists only private bases, false excludes them' })),
  is_frozen: Type.Optional(Type.Boolean({ description: 'true lists only frozen bases, false excludes them' })),
  q: Type.Optional(Q),
});

const baseStates = ['active', 'building', 'frozen', 'superseded'] as const;
type BaseState = (typeof baseStates)[number];
const indexStates = ['none', 'building', 'ready'] as const;

export const KnowledgeBaseStatsView = closed(
  {
    kb_id: idOf('KnowledgeBase'),
    state: oneOf(baseStates),
    predecessor_id: nullable(idOf('KnowledgeBase')),
    successor_id: nullable(idOf('KnowledgeBase')),
    building_run_id: nullable(idOf('Other', 'The re-embed in progress from or into this base')),
    chunking: Chunking,
    retrieval: Retrieval,
    items: closed({
      by_state: byName(curationStates),
      by_kind: byName(knowledgeItemKinds),
      by_origin: byName(knowledgeOrigins),
      by_index_state: byName(knowledgeIndexStates),
      deleted: integer({ minimum: 0 }),
    }),
    chunk_count: integer({ minimum: 0 }),
    token_count: integer({ minimum: 0 }),
    vectors: listOf(closed({ embedding_model: ModelName, embedding_dim: integer({ minimum: 1 }), count: integer({ minimum: 0 }) }), {
      maxItems: 1,
    }),
    vector_index: closed({ mode: oneOf(['exact', 'hnsw']), state: oneOf(indexStates) }),
    sources: closed({ by_state: byName(knowledgeSourceStates) }),
  },
  { $id: 'KnowledgeBaseStatsView', description: 'The contents of a base. Items, chunks and tokens only count live items' },
);

export type BaseUpdateBody = Static<typeof KnowledgeBaseUpdate>;
type Times = 'lastConsolidatedAt' | 'createdAt' | 'updatedAt';
type ListedBase = Omit<Awaited<ReturnType<typeof listBaseRows>>['items'][number], Times> & {
  readonly lastConsolidatedAt: Date | string | null;
  readonly createdAt: Date | string;
  readonly updatedAt: Date | string;
};

/** The wire form of a base. */
export function toKnowledgeBaseView(row: ListedBase) {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    scope: row.scope,
    kind: row.kind,
    owner_agent_id: row.ownerAgentId,
    owner_persona_id: row.ownerPersonaId,
    is_private: row.isPrivate,
    is_frozen: row.isFrozen,
    embedding_model: row.embeddingModel,
    embedding_dim: row.embeddingDim,
    item_count: row.itemCount,
    subject_kind: row.subjectKind,
    subject_id: row.subjectId,
    last_consolidated_at: iso(row.lastConsolidatedAt),
    curation_counts: curationCounts(row),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** The wire form of the contents of a base. */
export function toKnowledgeBaseStatsView(base: KnowledgeBaseRow, { items, others }: Awaited<ReturnType<typeof countBase>>) {
  const of = (column: 'kind' | 'origin' | 'indexState', names: readonly string[]) =>
    totals(names, (name) => items.find((count) => count[column] === name)?.total);
  const other = (what: string, name: string) => others.find((count) => count.what === what && count.name === name)?.total ?? 0;
  const index = others.find(({ what }) => what === 'index')?.name ?? 'none';
  const vectors = other('vector', '');
  return {
    kb_id: base.id,
    state: stateOf(base),
    predecessor_id: base.predecessorId,
    successor_id: base.successorId,
    building_run_id: base.reembedRunId,
    chunking: base.chunking,
    retrieval: base.retrieval,
    items: {
      by_state: curationCounts(base),
      by_kind: of('kind', knowledgeItemKinds),
      by_origin: of('origin', knowledgeOrigins),
      by_index_state: of('indexState', knowledgeIndexStates),
      deleted: other('deleted', ''),
    },
    chunk_count: base.chunks ?? 0,
    token_count: base.tokens ?? 0,
    vectors: vectors === 0 ? [] : [{ embedding_model: base.embeddingModel, embedding_dim: base.embeddingDim, count: vectors }],
    vector_index: {
      mode: index === 'ready' ? ('hnsw' as const) : ('exact' as const),
      state: indexStates.find((state) => state === index) ?? ('none' as const),
    },
    sources: { by_state: totals(knowledgeSourceStates, (name) => other('source', name)) },
  };
}

function curationCounts(row: Pick<ListedBase, (typeof curationStates)[number]>) {
  return totals(curationStates, (name) => row[name]);
}

function totals<N extends string>(names: readonly N[], totalOf: (name: N) => number | null | undefined): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, totalOf(name) ?? 0]));
}

function stateOf({ successorId, activatedAt, isFrozen }: Pick<KnowledgeBaseRow, 'successorId' | 'activatedAt' | 'isFrozen'>): BaseState {
  if (successorId !== null) return 'superseded';
  if (activatedAt === null) return 'building';
  return isFrozen ? 'frozen' : 'active';
}
