import type { SearchedBase } from '../../../db/knowledge/search/search-bases.ts';
import { lexemePrefix } from '../../../db/knowledge/search/lexeme-prefix.ts';
import type { ItemFilter, LegBase } from '../../../db/knowledge/search/search-legs.ts';
import { minIndexedChunks } from '../../../db/knowledge/search/vector-index.ts';
import { curationStates } from '../../../workflows/contracts/knowledge/curation.ts';
import type { EmbeddingModel } from '../../../ports/embeddings/index.ts';
import type { SearchMode } from './fusion.ts';

type CurationState = (typeof curationStates)[number];

/** Filters as a caller sets them; undefined and empty lists filter nothing. */
export interface SearchFilters extends Omit<ItemFilter, 'valid_at'> {
  readonly curation_states?: readonly CurationState[];
}

/** The parameters of a search. */
export interface SearchRequest {
  readonly query: string;
  readonly mode: SearchMode;
  /** 1 to 100. */
  readonly topK: number;
  /** Hits with a lower score are omitted; 0 to 1. */
  readonly minScore: number | null;
  readonly filters: SearchFilters;
  /** Only items that are valid at this time; null: all. */
  readonly validAt: Date | null;
  /** Omits superseded items. */
  readonly latestOnly: boolean;
  /** Null: as the base says. */
  readonly includePending: boolean | null;
  /** Bypasses the vector index. */
  readonly isExact: boolean;
}

/** Why a leg did not run, or not over all items. */
export const degradedReasons = ['embeddings_disabled', 'provider_failed', 'provider_timeout', 'budget', 'index_pending'] as const;
export type DegradedReason = (typeof degradedReasons)[number];

export const searchLegs = ['lexical', 'vector'] as const;

/** A leg that did not run over the whole of a base. */
export interface DegradedLeg {
  readonly kbId: string;
  readonly leg: (typeof searchLegs)[number];
  readonly reason: DegradedReason;
}

/** How one base is searched. */
export interface BasePlan {
  readonly base: SearchedBase;
  readonly states: readonly CurationState[];
  readonly hasLexical: boolean;
  /** `fallback`: only if the lexical leg finds nothing. */
  readonly vector: 'runs' | 'fallback' | null;
  readonly model: EmbeddingModel | null;
  readonly vectorWeight: number;
}

/** The curation states that a search of the base shows. */
export function statesOf(
  { latestOnly, includePending, filters }: Pick<SearchRequest, 'latestOnly' | 'includePending' | 'filters'>,
  base: Pick<SearchedBase, 'retrieval'>,
): CurationState[] {
  const { curation_states: named = [] } = filters;
  const hasPending = includePending ?? base.retrieval.include_pending;
  const shown: Readonly<Record<CurationState, boolean>> = {
    // A named state is wanted, unless another member of the request excludes it.
    pending: named.length > 0 ? includePending !== false : hasPending,
    reviewed: true,
    promoted: true,
    superseded: !latestOnly,
    retired: named.includes('retired'),
  };
  return curationStates.filter((state) => shown[state] && (named.length === 0 || named.includes(state)));
}

/** The filters of the items, as the legs take them. */
export function itemFilterOf({ filters, validAt }: Pick<SearchRequest, 'filters' | 'validAt'>): ItemFilter {
  const { curation_states: _, ...rest } = filters;
  const given = Object.entries(rest).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0));
  return { ...Object.fromEntries(given), ...(validAt === null ? {} : { valid_at: validAt.toISOString() }) };
}

/** Plans the search of a base, and reports the legs that can't run in it. `model`: the deployment's entry for its embedding model. */
export function planBase(
  request: SearchRequest,
  base: SearchedBase,
  model: EmbeddingModel | null,
): { readonly plan: BasePlan; readonly degraded: DegradedLeg[] } {
  const isOff = base.embeddingModel === 'none';
  const vectorWeight = base.retrieval.vector_weight ?? model?.fusionWeight ?? 0;
  const hasLexical = request.mode !== 'vector';
  const wantsVector = request.mode !== 'lexical';
  const degraded: DegradedLeg[] = [];
  if (base.isIndexPending && hasLexical) degraded.push({ kbId: base.id, leg: 'lexical', reason: 'index_pending' });
  if (wantsVector && isOff) degraded.push({ kbId: base.id, leg: 'vector', reason: 'embeddings_disabled' });
  else if (wantsVector && model === null) degraded.push({ kbId: base.id, leg: 'vector', reason: 'provider_failed' });
  else if (wantsVector && base.isIndexPending) degraded.push({ kbId: base.id, leg: 'vector', reason: 'index_pending' });

  const canVector = wantsVector && model !== null;
  const vector = canVector ? (request.mode === 'hybrid' && vectorWeight === 0 ? 'fallback' : 'runs') : null;
  return { plan: { base, states: statesOf(request, base), hasLexical, vector, model, vectorWeight }, degraded };
}

/**
 * Returns the base as the legs take it, or null when no leg runs in it. `embedding`: the number of its model's query vector, from 1; null when there is none.
 */
export function legBaseOf({ base, states, hasLexical, vector }: BasePlan, embedding: number | null, isExact: boolean): LegBase | null {
  const hasVector = vector !== null && embedding !== null;
  if (!hasLexical && !hasVector) return null;
  return {
    kb_id: base.id,
    chunk_count: base.chunks,
    states,
    language: hasLexical ? base.retrieval.language : null,
    prefix: hasLexical ? lexemePrefix(base.lexNo) : null,
    dim: hasVector ? base.embeddingDim : null,
    embedding: hasVector ? embedding : null,
    use_index: base.chunks > minIndexedChunks && !isExact,
    if_empty: vector === 'fallback',
  };
}
