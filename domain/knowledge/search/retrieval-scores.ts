/** How well one ranking answers a question with known answers; each from 0 to 1. */
export interface RetrievalScores {
  readonly ndcg: number;
  readonly recall: number;
  readonly reciprocalRank: number;
}

const depth = 10;

/**
 * nDCG@10 with binary gains (Järvelin and Kekäläinen 2002), recall@10, and the reciprocal rank of the first answer among ten. `ranked`: items, best first, each
 * once. Pure.
 */
export function scoreRanking(ranked: readonly string[], relevant: ReadonlySet<string>): RetrievalScores {
  const top = ranked.slice(0, depth);
  const hits = top.flatMap((id, at) => (relevant.has(id) ? [at] : []));
  const gain = hits.reduce((sum, at) => sum + 1 / Math.log2(at + 2), 0);
  const best = Array.from({ length: Math.min(depth, relevant.size) }, (_, at) => 1 / Math.log2(at + 2)).reduce((sum, one) => sum + one, 0);
  const first = hits[0];
  return {
    ndcg: best === 0 ? 0 : gain / best,
    recall: relevant.size === 0 ? 0 : hits.length / Math.min(depth, relevant.size),
    reciprocalRank: first === undefined ? 0 : 1 / (first + 1),
  };
}
