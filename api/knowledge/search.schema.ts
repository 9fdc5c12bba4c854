import Type, { type Static } from 'typebox';
import { knowledgeTrusts } from '../../db/knowledge/items/knowledge-item.entity.ts';
import { curationStates } from '../../workflows/contracts/knowledge/curation.ts';
import { iso } from '../../db/sql.ts';
import { searchModes } from '../../domain/knowledge/search/fusion.ts';
import type { SearchHit, SearchResult } from '../../domain/knowledge/search/search.ts';
import { maxSearchedBases } from '../../domain/knowledge/bases/searchable-bases.ts';
import { degradedReasons, searchLegs, type SearchRequest } from '../../domain/knowledge/search/search-plan.ts';
import { KnowledgeSearchFilters } from '../http/views/knowledge-filters.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

const searchFields = {
  query: text(2_000, { minLength: 1, description: 'Words or a question' }),
  mode: Type.Optional(oneOf(searchModes, { description: 'Defaults to hybrid: both legs, fused by rank' })),
  top_k: Type.Optional(integer({ minimum: 1, maximum: 100, description: 'Defaults to 10' })),
  min_score: Type.Optional(
    nullable(Type.Number({ minimum: 0, maximum: 1, description: 'Hits below this score are omitted; decay is not taken into account' })),
  ),
  filters: Type.Optional(KnowledgeSearchFilters),
  valid_at: Type.Optional(
    nullable(Type.String({ format: 'date-time', description: 'Only items that are valid at this time; defaults to now, null: any time' })),
  ),
  latest_only: Type.Optional(Type.Boolean({ description: 'Excludes superseded items; defaults to true' })),
  include_pending: Type.Optional(
    Type.Boolean({ description: 'Includes items that have not been reviewed; defaults to the setting of the base' }),
  ),
  exact: Type.Optional(Type.Boolean({ description: 'Compares with every vector instead of using the index; defaults to false' })),
};

export const KnowledgeSearch = closed(searchFields, { $id: 'KnowledgeSearch' });
export const KnowledgeSearchAcross = closed(
  {
    ...searchFields,
    kb_ids: Type.Optional(
      listOf(idOf('KnowledgeBase'), {
        minItems: 1,
        maxItems: maxSearchedBases,
        uniqueItems: true,
        description: 'Defaults to every readable base',
      }),
    ),
  },
  { $id: 'KnowledgeSearchAcross' },
);

const ScoreParts = closed(
  {
    lexical: nullable(Type.Number({ minimum: 0, maximum: 1e6, description: 'BM25' })),
    lexical_rank: nullable(integer({ minimum: 1 })),
    vector: nullable(Type.Number({ minimum: -1, maximum: 1, description: 'Cosine' })),
    vector_rank: nullable(integer({ minimum: 1 })),
  },
  { $id: 'KnowledgeScoreParts', description: 'The result of each leg; null if it did not find the passage' },
);

export const KnowledgeHit = closed(
  {
    kb_id: idOf('KnowledgeBase'),
    item_id: idOf('KnowledgeItem'),
    chunk_id: idOf('Other'),
    source_id: nullable(idOf('KnowledgeSource')),
    title: nullable(text(300)),
    uri: nullable(text(2_000)),
    page: nullable(integer({ minimum: 1 })),
    quote: text(20_000, { description: 'The passage, verbatim from the current content' }),
    char_start: integer({ description: 'In code points of the content' }),
    char_end: integer(),
    score: Type.Number({ minimum: 0, maximum: 1 }),
    score_parts: ScoreParts,
    curation_state: oneOf(curationStates),
    trust: oneOf(knowledgeTrusts),
    valid_from: nullable(Timestamp),
    valid_until: nullable(Timestamp),
    superseded_by_id: nullable(idOf('KnowledgeItem')),
  },
  { $id: 'KnowledgeHit', description: 'A passage with its location' },
);

const DegradedLeg = closed(
  { kb_id: nullable(idOf('KnowledgeBase')), leg: oneOf(searchLegs), reason: oneOf(degradedReasons) },
  { $id: 'KnowledgeDegradedLeg', description: 'A leg that did not cover the whole base' },
);

export const KnowledgeSearchView = closed(
  {
    mode: oneOf(searchModes),
    hits: listOf(KnowledgeHit, { maxItems: 100, description: 'Best first' }),
    searched_kb_ids: listOf(idOf('KnowledgeBase'), { maxItems: maxSearchedBases }),
    degraded: listOf(DegradedLeg, { maxItems: 2 * maxSearchedBases }),
  },
  { $id: 'KnowledgeSearchView', description: 'Passages that answer a query, with citations' },
);

/** Converts a body to a search, with defaults. `now`: the time at which items must be valid unless the body says otherwise. */
export function toSearchRequest(body: Static<typeof KnowledgeSearch>, now: Date): SearchRequest {
  return {
    query: body.query,
    mode: body.mode ?? 'hybrid',
    topK: body.top_k ?? 10,
    minScore: body.min_score ?? null,
    filters: body.filters ?? {},
    validAt: body.valid_at === undefined ? now : body.valid_at === null ? null : new Date(body.valid_at),
    latestOnly: body.latest_only ?? true,
    includePending: body.include_pending ?? null,
    isExact: body.exact ?? false,
  };
}

/** The result of a search as it goes to the wire. */
export function toSearchView({ hits, searchedKbIds, degraded }: SearchResult, { mode }: SearchRequest): Static<typeof KnowledgeSearchView> {
  return {
    mode,
    hits: hits.map(toHitView),
    searched_kb_ids: [...searchedKbIds],
    degraded: degraded.map(({ kbId, leg, reason }) => ({ kb_id: kbId, leg, reason })),
  };
}

function toHitView({ row, ranks }: SearchHit): Static<typeof KnowledgeHit> {
  return {
    kb_id: row.kbId,
    item_id: row.itemId,
    chunk_id: row.id,
    source_id: row.sourceId,
    title: row.title ?? row.sourceTitle,
    uri: row.uri,
    page: row.page,
    quote: row.text,
    char_start: row.charStart,
    char_end: row.charEnd,
    score: ranks.score,
    score_parts: {
      lexical: ranks.lexical?.score ?? null,
      lexical_rank: ranks.lexical?.rank ?? null,
      vector: ranks.vector?.score ?? null,
      vector_rank: ranks.vector?.rank ?? null,
    },
    curation_state: row.curationState,
    trust: row.trust,
    valid_from: iso(row.validFrom),
    valid_until: iso(row.validUntil),
    superseded_by_id: row.supersededById,
  };
}
