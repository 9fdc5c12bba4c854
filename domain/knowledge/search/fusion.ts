/** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). */
const rrfConstant = 60;
/** The lexical score at which `score` is one half. */
const lexicalHalf = 8;

/** The modes of a search. */
export const searchModes = ['lexical', 'vector', 'hybrid'] as const;
export type SearchMode = (typeof searchModes)[number];

/** A chunk with the score of one leg: BM25, or the cosine. */
export interface RankedChunk {
  readonly chunkId: string;
  readonly score: number;
}

/** A chunk's rank in one leg; ranks begin with 1. */
export interface LegRank {
  readonly score: number;
  readonly rank: number;
}

/** A chunk of one base, with the score that its hit shows. */
export interface FusedChunk {
  readonly chunkId: string;
  /** 0 to 1. */
  readonly score: number;
  /** The score without the chunk's factor. The minimum score is compared with it, since age scales scores but never filters. */
  readonly fullScore: number;
  readonly lexical: LegRank | null;
  readonly vector: LegRank | null;
}

/** The rankings of one base, best first. A leg that did not run is null. */
export interface BaseRankings {
  readonly mode: SearchMode;
  readonly lexical: readonly RankedChunk[] | null;
  readonly vector: readonly RankedChunk[] | null;
  /** Weight of the vector leg, relative to the lexical leg's 1. */
  readonly vectorWeight: number;
  /** Factor of a score, 0 to 1, by chunk; a chunk without an entry has 1. */
  readonly factors?: ReadonlyMap<string, number>;
}

/** Orders chunks by score, best first, and by id when scores are equal, so that every search orders alike. */
export function byScore(left: RankedChunk, right: RankedChunk): number {
  return right.score - left.score || (left.chunkId < right.chunkId ? -1 : 1);
}

/**
 * Fuses the rankings of a base into one. Hybrid: reciprocal rank fusion over its maximum. Lexical: s / (s + 8). Vector: the cosine, clamped at 0. Each score is
 * multiplied by the factor of its chunk.
 */
export function fuse(rankings: BaseRankings): FusedChunk[] {
  const scoreOf = scoring(rankings);
  const chunks = legsOf(rankings);
  for (const chunk of chunks) {
    chunk.fullScore = scoreOf(chunk.lexical, chunk.vector);
    chunk.score = chunk.fullScore * (rankings.factors?.get(chunk.chunkId) ?? 1);
  }
  return chunks.toSorted(byScore);
}

/** Merges the rankings of several bases: each chunk counts by its rank in its base, then by its score. Scores stay those of the bases. */
export function fuseBases(bases: readonly (readonly FusedChunk[])[]): readonly FusedChunk[] {
  const [only, other] = bases;
  if (only && !other) return only;
  return bases
    .flatMap((chunks) => chunks.map((chunk, at) => ({ chunk, share: 1 / (rrfConstant + at + 1) })))
    .toSorted((left, right) => right.share - left.share || byScore(left.chunk, right.chunk))
    .map(({ chunk }) => chunk);
}

/** A chunk while its ranks and scores are filled in. */
type Ranked = { -readonly [K in keyof FusedChunk]: FusedChunk[K] };

/** Joins the ranks of both legs by chunk, without scores. Plain loops, since ranking would otherwise take a search as long as a statement. */
function legsOf({ lexical, vector }: BaseRankings): Ranked[] {
  const chunks: Ranked[] = [];
  const known = new Map<string, Ranked>();
  for (const [at, { chunkId, score }] of (lexical ?? []).entries()) {
    const chunk: Ranked = { chunkId, score: 0, fullScore: 0, lexical: { score, rank: at + 1 }, vector: null };
    chunks.push(chunk);
    known.set(chunkId, chunk);
  }
  for (const [at, { chunkId, score }] of (vector ?? []).entries()) {
    const rank = { score, rank: at + 1 };
    const chunk = known.get(chunkId);
    if (chunk) chunk.vector = rank;
    else chunks.push({ chunkId, score: 0, fullScore: 0, lexical: null, vector: rank });
  }
  return chunks;
}

function scoring({ mode, lexical, vector, vectorWeight }: BaseRankings): (lexical: LegRank | null, vector: LegRank | null) => number {
  if (mode === 'lexical') return (byWords) => lexicalScore(byWords?.score ?? 0);
  if (mode === 'vector') return (_, byVector) => Math.min(1, Math.max(0, byVector?.score ?? 0));
  // A leg that found nothing does not count in the maximum; otherwise a base with one leg could never reach it.
  const weight = lexical?.length ? { lexical: 1, vector: vector?.length ? vectorWeight : 0 } : { lexical: 0, vector: 1 };
  const maximum = (weight.lexical + weight.vector) / (rrfConstant + 1);
  // Rounding could lift the best score above 1.
  return (byWords, byVector) => Math.min(1, (share(byWords, weight.lexical) + share(byVector, weight.vector)) / maximum);
}

function lexicalScore(score: number): number {
  return score / (score + lexicalHalf);
}

function share(leg: LegRank | null, weight: number): number {
  return leg === null ? 0 : weight / (rrfConstant + leg.rank);
}
