/** Which documents answer a query: gains above 0 by document. Everything else has the gain 0. */
export type Judgements = ReadonlyMap<string, number>;

/** The metrics of one query, or their means over several. */
export interface RetrievalMetrics {
  readonly ndcg10: number;
  readonly recall10: number;
  readonly mrr: number;
}

/** nDCG at `depth` with linear gain and the discount log2(rank + 1), as trec_eval's `ndcg_cut`; 0 when nothing is relevant. */
export function ndcg(ranking: readonly string[], judgements: Judgements, depth: number): number {
  const ideal = discounted([...judgements.values()].toSorted((left, right) => right - left).slice(0, depth));
  return ideal === 0 ? 0 : discounted(ranking.slice(0, depth).map((document) => judgements.get(document) ?? 0)) / ideal;
}

/** The share of the relevant documents that the first `depth` hold. */
export function recall(ranking: readonly string[], judgements: Judgements, depth: number): number {
  const relevant = relevantOf(judgements);
  const found = ranking.slice(0, depth).filter((document) => relevant.has(document));
  return relevant.size === 0 ? 0 : found.length / relevant.size;
}

/** One over the rank of the first relevant document; 0 when none is ranked. */
export function reciprocalRank(ranking: readonly string[], judgements: Judgements): number {
  const relevant = relevantOf(judgements);
  const at = ranking.findIndex((document) => relevant.has(document));
  return at < 0 ? 0 : 1 / (at + 1);
}

/** The means over all queries that have a relevant document; a query without a ranking counts as 0. Rankings name each document once. */
export function meanMetrics(
  judged: ReadonlyMap<string, Judgements>,
  rankings: ReadonlyMap<string, readonly string[]>,
): RetrievalMetrics & { readonly queries: number } {
  const each = [...judged]
    .filter(([, judgements]) => relevantOf(judgements).size > 0)
    .map(([query, judgements]) => {
      const ranking = rankings.get(query) ?? [];
      return { ndcg10: ndcg(ranking, judgements, 10), recall10: recall(ranking, judgements, 10), mrr: reciprocalRank(ranking, judgements) };
    });
  const mean = (metric: keyof RetrievalMetrics) => each.reduce((sum, one) => sum + one[metric], 0) / Math.max(1, each.length);
  return { ndcg10: mean('ndcg10'), recall10: mean('recall10'), mrr: mean('mrr'), queries: each.length };
}

function relevantOf(judgements: Judgements): Set<string> {
  return new Set([...judgements].filter(([, gain]) => gain > 0).map(([document]) => document));
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
}
