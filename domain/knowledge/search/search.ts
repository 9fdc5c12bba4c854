import type { SearchedBase } from '../../../db/knowledge/search/search-bases.ts';
import { readHits, type HitRow } from '../../../db/knowledge/search/search-hits.ts';
import { findCandidates, type LegFind, type LegsRequest } from '../../../db/knowledge/search/search-legs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { Embedder } from '../../../ports/embeddings/index.ts';
import type { QueryEmbedding } from '../../../ports/embeddings/query.ts';
import { lexQuery } from '../../../ports/chunking/lex.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { bm25 } from './bm25.ts';
import { byScore, fuse, fuseBases, type FusedChunk, type RankedChunk } from './fusion.ts';
import {
  itemFilterOf,
  legBaseOf,
  planBase,
  type BasePlan,
  type DegradedLeg,
  type DegradedReason,
  type SearchRequest,
} from './search-plan.ts';

export interface SearchDeps {
  /** Runs statements in the searcher's tenant, each on its own. */
  readonly read: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
  readonly models: Pick<Embedder, 'find'>;
  /** Returns the query's vector by the model of a base, or why there is none. Paid models pass the budget check. */
  readonly embed: (model: string, text: string, base: Pick<SearchedBase, 'organizationId' | 'workspaceId'>) => Promise<QueryEmbedding>;
  readonly now: () => Date;
}

/** A passage with its ranks. */
export interface SearchHit {
  readonly row: HitRow;
  readonly ranks: FusedChunk;
}

export interface SearchResult {
  /** Best first. */
  readonly hits: readonly SearchHit[];
  readonly searchedKbIds: readonly string[];
  readonly degraded: readonly DegradedLeg[];
}

/** The most ranked chunks of one leg. */
const maxCandidates = 200;
/** The most lexemes of a query that are searched. */
const maxLexemes = 256;
/** Additional chunks to read when items were deleted during the search. */
const maxRefill = 200;

/**
 * Searches bases that the caller may read: one statement for all legs, one for the hits.
 * @throws mode `vector` when no base can run it: 422 `embeddings_disabled`, 502, 504, 402.
 */
export async function searchBases(deps: SearchDeps, bases: readonly SearchedBase[], request: SearchRequest): Promise<SearchResult> {
  const planned = bases.map((base) => planBase(request, base, deps.models.find(base.embeddingModel)));
  const plans = planned.map(({ plan }) => plan);
  const degraded = planned.flatMap((one) => one.degraded);
  // A fallback that costs money and may be needless waits for the lexical leg.
  const isEager = ({ vector, model }: BasePlan) => vector === 'runs' || (vector === 'fallback' && model?.inProcess === true);
  const embedded = await embedQueries(deps, plans.filter(isEager), request.query);
  degraded.push(...embedded.degraded);
  if (request.mode === 'vector') refuseWithoutVectors(plans, embedded.vectors, degraded);

  const filter = itemFilterOf(request);
  const lexemes = lexemesOf(plans, request.query);
  const finds = await findIn(deps, { plans, embedded, lexemes, filter, isExact: request.isExact });
  const late = plans.filter((plan) => plan.vector === 'fallback' && !isEager(plan) && !finds.some(({ kbId }) => kbId === plan.base.id));
  if (late.length > 0) {
    const lateEmbedded = await embedQueries(deps, late, request.query);
    degraded.push(...lateEmbedded.degraded);
    const vectorsOnly = late.map((plan) => ({ ...plan, hasLexical: false }));
    finds.push(...(await findIn(deps, { plans: vectorsOnly, embedded: lateEmbedded, lexemes: {}, filter, isExact: request.isExact })));
  }

  const ranked = fuseBases(plans.map((plan) => rankBase(request, plan, { finds, now: deps.now() })));
  const hits = await readRanked(deps, ranked, request);
  return { hits, searchedKbIds: bases.map(({ id }) => id), degraded };
}

interface Embedded {
  readonly vectors: ReadonlyMap<string, Float32Array>;
  readonly degraded: readonly DegradedLeg[];
}

async function embedQueries(deps: SearchDeps, plans: readonly BasePlan[], text: string): Promise<Embedded> {
  const models = new Map(plans.flatMap(({ model, base }) => (model === null ? [] : [[model.id, base] as const])));
  const answers = new Map(
    await Promise.all([...models].map(async ([model, base]) => [model, await deps.embed(model, text, base)] as const)),
  );
  const vectors = new Map<string, Float32Array>();
  for (const [model, answer] of answers) if ('vector' in answer) vectors.set(model, answer.vector);
  const degraded = plans.flatMap(({ base, model }) => {
    const answer = model && answers.get(model.id);
    return answer && 'reason' in answer ? [{ kbId: base.id, leg: 'vector' as const, reason: answer.reason }] : [];
  });
  return { vectors, degraded };
}

const refusals: Readonly<Record<Exclude<DegradedReason, 'index_pending'>, () => Error>> = {
  embeddings_disabled: () =>
    fail('validation_failed', {
      reason: 'embeddings_disabled',
      detail: 'The knowledge base has no embeddings; search it in mode lexical.',
      errors: [{ in: 'body', pointer: '/mode', name: null, rule: 'embeddings_disabled', message: 'The knowledge base has no embeddings.' }],
    }),
  provider_failed: () => fail('upstream_failed', { detail: 'The embedding model did not answer. Try again, or search in mode lexical.' }),
  provider_timeout: () => fail('upstream_timeout', { detail: 'The embedding model took too long. Try again, or search in mode lexical.' }),
  budget: () => fail('budget_exceeded', { detail: 'The budget does not allow the embedding of the query; mode lexical costs nothing.' }),
};

/** A search by vectors alone has nothing to fall back to. */
function refuseWithoutVectors(plans: readonly BasePlan[], vectors: Embedded['vectors'], degraded: readonly DegradedLeg[]): void {
  if (plans.length === 0 || plans.some(({ model }) => model !== null && vectors.has(model.id))) return;
  const reason = degraded.find((one) => one.leg === 'vector' && one.reason !== 'index_pending')?.reason ?? 'provider_failed';
  throw refusals[reason === 'index_pending' ? 'provider_failed' : reason]();
}

/** The query's lexemes in each language of the bases, without repeats. */
function lexemesOf(plans: readonly BasePlan[], text: string): Record<string, string[]> {
  const languages = new Set(plans.filter(({ hasLexical }) => hasLexical).map(({ base }) => base.retrieval.language));
  return Object.fromEntries([...languages].map((code) => [code, [...new Set(lexQuery(text, code))].slice(0, maxLexemes)]));
}

interface FindRequest extends Pick<LegsRequest, 'lexemes' | 'filter'> {
  readonly plans: readonly BasePlan[];
  readonly embedded: Embedded;
  readonly isExact: boolean;
}

async function findIn(deps: SearchDeps, { plans, embedded, lexemes, filter, isExact }: FindRequest): Promise<LegFind[]> {
  const models = [...embedded.vectors.keys()];
  const bases = plans.flatMap((plan) => {
    const embedding = models.indexOf(plan.model?.id ?? '') + 1;
    return legBaseOf(plan, embedding === 0 ? null : embedding, isExact) ?? [];
  });
  if (bases.length === 0) return [];
  const hasUse = plans.some(({ base }) => base.decay?.enabled);
  return deps.read((tx) => findCandidates(tx, { bases, lexemes, embeddings: [...embedded.vectors.values()], filter, hasUse }));
}

function rankBase(
  { mode }: SearchRequest,
  { base, vectorWeight }: BasePlan,
  { finds, now }: { readonly finds: readonly LegFind[]; readonly now: Date },
): FusedChunk[] {
  const own = finds.filter(({ kbId }) => kbId === base.id);
  const factors = factorsOf(own, base, now);
  return fuse({ mode, lexical: rankLexically(own, base), vector: rankByDistance(own), vectorWeight, ...(factors && { factors }) });
}

/** Factors by chunk; null when the base's policy has no decay. */
function factorsOf(finds: readonly LegFind[], { decay }: SearchedBase, now: Date): Map<string, number> | null {
  if (!decay?.enabled) return null;
  const rule = { halfLifeDays: decay.half_life_days, floor: decay.floor };
  const factors = new Map<string, number>();
  for (const { chunkIds, usedAt } of finds) {
    for (const [at, chunkId] of chunkIds.entries()) factors.set(chunkId, decayFactor(rule, { usedAt: new Date(usedAt?.[at] ?? now), now }));
  }
  return factors;
}

function rankLexically(finds: readonly LegFind[], { chunks, lexLen }: SearchedBase): RankedChunk[] {
  return ranking(finds, ({ words }) => {
    if (words === null) return null;
    const { lexemeCounts, frequencies, documentFrequencies } = words;
    const statistics = { chunkCount: chunks, totalLexemes: lexLen, documentFrequencies };
    return frequencies.map((held, at) => bm25({ lexemeCount: lexemeCounts[at] ?? 0, frequencies: held }, statistics));
  });
}

/** A vector of length 0 has no distance to anything: it counts as unrelated. */
function rankByDistance(finds: readonly LegFind[]): RankedChunk[] {
  return ranking(finds, ({ distances }) => distances?.map((distance) => (Number.isNaN(distance) ? 0 : 1 - distance)) ?? null);
}

/** The best chunks of one leg, each once. `scoresOf` returns the scores of a find's chunks, or null for another leg's find. */
function ranking(finds: readonly LegFind[], scoresOf: (find: LegFind) => readonly number[] | null): RankedChunk[] {
  const ranked: RankedChunk[] = [];
  let tries = 0;
  for (const find of finds) {
    const scores = scoresOf(find);
    if (scores === null) continue;
    tries += 1;
    for (const [at, score] of scores.entries()) ranked.push({ chunkId: find.chunkIds[at] ?? '', score });
  }
  const unique = tries > 1 ? [...new Map(ranked.map((chunk) => [chunk.chunkId, chunk])).values()] : ranked;
  return unique.toSorted(byScore).slice(0, maxCandidates);
}

/** Reads the requested number of hits; some may have been deleted since the legs found them, and the next ones then replace them. */
async function readRanked(deps: SearchDeps, ranked: readonly FusedChunk[], { topK, minScore }: SearchRequest): Promise<SearchHit[]> {
  const wanted = ranked.filter(({ fullScore }) => fullScore >= (minScore ?? 0));
  const best = await readChunks(deps, wanted.slice(0, topK));
  if (best.length === topK || wanted.length <= topK) return best;
  const rest = await readChunks(deps, wanted.slice(topK, topK + maxRefill));
  return [...best, ...rest].slice(0, topK);
}

async function readChunks(deps: SearchDeps, wanted: readonly FusedChunk[]): Promise<SearchHit[]> {
  if (wanted.length === 0) return [];
  const chunkIds = wanted.map(({ chunkId }) => chunkId);
  const byId = new Map((await deps.read((tx) => readHits(tx, chunkIds))).map((row) => [row.id, row]));
  return wanted.flatMap((ranks) => {
    const row = byId.get(ranks.chunkId);
    return row ? [{ row, ranks }] : [];
  });
}

/** How fast the score of an unused item decays, by the maintenance policy of its base. */
interface Decay {
  /** Half-life, in days without use, of the part above `floor`; at least 1. */
  readonly halfLifeDays: number;
  /** 0 to 1: the smallest factor. */
  readonly floor: number;
}

const dayMs = 86_400_000;

/** Factor of an item's score: 1 when it has just been used, approaching `floor` when that is long ago. */
export function decayFactor({ halfLifeDays, floor }: Decay, { usedAt, now }: { readonly usedAt: Date; readonly now: Date }): number {
  const days = Math.max(0, now.getTime() - usedAt.getTime()) / dayMs;
  return floor + (1 - floor) * 0.5 ** (days / halfLifeDays);
}
