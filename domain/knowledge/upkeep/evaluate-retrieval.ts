import { Condition } from '../../../db/condition.ts';
import { findGoldenItems } from '../../../db/knowledge/search/search-hits.ts';
import type { GoldenQuery } from '../../../db/knowledge/bases/knowledge-policy.entity.ts';
import { listSearchedBases, type SearchedBase } from '../../../db/knowledge/search/search-bases.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { SearchMode } from '../search/fusion.ts';
import type { TaskBatch } from './maintenance.ts';
import { scoreRanking, type RetrievalScores } from '../search/retrieval-scores.ts';
import type { SearchFilters } from '../search/search-plan.ts';
import { searchBases } from '../search/search.ts';

const queriesAtOnce = 5;
/** Weights of the vector leg that are compared. */
const weights = [0, 0.25, 0.5, 1, 1.5, 2] as const;
const modes = ['lexical', 'vector', 'hybrid'] as const satisfies readonly SearchMode[];
/** The chunks to read for ten items, since several chunks may belong to one item. */
const chunksRead = 50;

interface Sums {
  readonly queries: number;
  /** Sums of scores by leg; a leg that the base lacks is missing. */
  readonly legs: Readonly<Record<string, RetrievalScores>>;
  /** Sums of nDCG of the fused ranking, by weight of the vector leg. */
  readonly weights: Readonly<Record<string, number>>;
  /** Indexes of golden queries without an answer among the first ten of the fused ranking. */
  readonly misses: readonly number[];
  /** Indexes of golden queries that name no live item, and are not counted. */
  readonly unknown: readonly number[];
}

const nothing: Sums = { queries: 0, legs: {}, weights: {}, misses: [], unknown: [] };

/**
 * Task `evaluate_retrieval`: runs the golden queries of the policy by words, by vectors and fused, and with other weights of the vector leg, and reports how
 * well each answers and which weight is best. Changes nothing.
 */
export async function evaluateStep(batch: TaskBatch): Promise<void> {
  const { run, cursor, policy, read, commit } = batch;
  const at = Number(cursor.after ?? 0);
  const queries = policy.goldenQueries.slice(at, at + queriesAtOnce);
  const always = new Condition('true');
  const [base] = await read((tx) => listSearchedBases(tx, { visible: always, canRead: always, kbIds: [run.kbId], limit: 1 }));
  if (!base) throw fail('not_found');

  // Only this function writes the sums.
  let sums = (cursor.sums as Sums | undefined) ?? nothing;
  for (const [n, golden] of queries.entries()) sums = await addQuery(batch, { base, golden, at: at + n }, sums);
  const isDone = at + queriesAtOnce >= policy.goldenQueries.length;
  await commit(async () => ({
    next: isDone ? null : { stage: null, after: String(at + queriesAtOnce), sums: { ...sums } },
    done: queries.length,
    ...(isDone ? { result: resultOf(sums, base) } : {}),
  }));
}

interface Asked {
  readonly base: SearchedBase;
  readonly golden: GoldenQuery;
  readonly at: number;
}

async function addQuery(batch: TaskBatch, asked: Asked, sums: Sums): Promise<Sums> {
  const { base, golden, at } = asked;
  const known = await batch.read((tx) => findGoldenItems(tx, base.id, golden.relevant));
  const relevant = new Set(known.values());
  if (relevant.size === 0) return { ...sums, unknown: [...sums.unknown, at] };

  const legs: Record<string, RetrievalScores> = { ...sums.legs };
  const ranked = await rankAll(batch, asked);
  for (const [mode, ids] of ranked.modes) legs[mode] = add(legs[mode], scoreRanking(ids, relevant));
  const byWeight: Record<string, number> = { ...sums.weights };
  for (const [weight, ids] of ranked.weights) byWeight[weight] = (byWeight[weight] ?? 0) + scoreRanking(ids, relevant).ndcg;
  const fused = ranked.modes.get('hybrid') ?? [];
  const isMiss = !fused.slice(0, 10).some((id) => relevant.has(id));
  return { ...sums, queries: sums.queries + 1, legs, weights: byWeight, misses: isMiss ? [...sums.misses, at] : sums.misses };
}

async function rankAll(batch: TaskBatch, { base, golden }: Asked) {
  const hasVectors = base.embeddingModel !== 'none' && batch.tools.embedder.find(base.embeddingModel) !== null;
  const rankBy = (mode: SearchMode, weight: number | null) =>
    rank(batch, { base: weight === null ? base : withWeight(base, weight), golden }, mode);
  const byMode = new Map<string, string[]>();
  for (const mode of modes) if (mode !== 'vector' || hasVectors) byMode.set(mode, await rankBy(mode, null));
  const byWeight = new Map<string, string[]>();
  if (hasVectors) for (const weight of weights) byWeight.set(String(weight), await rankBy('hybrid', weight));
  return { modes: byMode, weights: byWeight };
}

function withWeight(base: SearchedBase, weight: number): SearchedBase {
  return { ...base, retrieval: { ...base.retrieval, vector_weight: weight } };
}

/** Items, best first, each at the rank of its best passage. */
async function rank({ tools }: TaskBatch, { base, golden }: Pick<Asked, 'base' | 'golden'>, mode: SearchMode): Promise<string[]> {
  // The policy's filters were checked against the form of a search's filters.
  const filters = (golden.filters ?? {}) as SearchFilters;
  const { hits } = await searchBases(tools.search, [base], {
    query: golden.query,
    mode,
    topK: chunksRead,
    minScore: null,
    filters,
    validAt: tools.now(),
    latestOnly: true,
    includePending: null,
    isExact: false,
  });
  return [...new Set(hits.map(({ row }) => row.itemId))];
}

function add(sum: RetrievalScores | undefined, one: RetrievalScores): RetrievalScores {
  if (sum === undefined) return one;
  return { ndcg: sum.ndcg + one.ndcg, recall: sum.recall + one.recall, reciprocalRank: sum.reciprocalRank + one.reciprocalRank };
}

function resultOf({ queries, legs, weights: byWeight, misses, unknown }: Sums, base: SearchedBase): Record<string, unknown> {
  const mean = (sum: number) => (queries === 0 ? 0 : Number((sum / queries).toFixed(4)));
  const shown = Object.entries(legs).map(([mode, sum]) => [
    mode === 'hybrid' ? 'fused' : mode,
    { ndcg_at_10: mean(sum.ndcg), recall_at_10: mean(sum.recall), mrr: mean(sum.reciprocalRank) },
  ]);
  const compared = Object.entries(byWeight).map(([weight, sum]) => ({ vector_weight: Number(weight), ndcg_at_10: mean(sum) }));
  const best = compared.toSorted((left, right) => right.ndcg_at_10 - left.ndcg_at_10 || left.vector_weight - right.vector_weight)[0];
  return {
    queries,
    legs: Object.fromEntries(shown),
    weights: compared,
    vector_weight: base.retrieval.vector_weight,
    suggested_vector_weight: queries === 0 ? null : (best?.vector_weight ?? null),
    misses,
    unknown_queries: unknown,
  };
}
