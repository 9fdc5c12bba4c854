/** Term frequency saturation and length normalisation of Okapi BM25 (Robertson and Zaragoza, 2009), with the usual defaults of search engines. */
const k1 = 1.2;
const b = 0.75;

/** The statistics of a candidate's base that BM25 needs. */
export interface LexicalStatistics {
  /** Chunks of the base. */
  readonly chunkCount: number;
  /** Lexemes of all its chunks together, with repeats. */
  readonly totalLexemes: number;
  /** The number of chunks that contain each lexeme of the query, in the order of the query's lexemes. */
  readonly documentFrequencies: readonly number[];
}

/** A chunk that contains at least one lexeme of the query. */
export interface LexicalCandidate {
  /** Lexemes of the chunk, with repeats. */
  readonly lexemeCount: number;
  /** How often the chunk contains each lexeme of the query, in the order of the query's lexemes. */
  readonly frequencies: readonly number[];
}

/** Okapi BM25 with the idf that is never negative (Lucene's `ln(1 + (N - df + 0.5) / (df + 0.5))`). At least 0, without an upper bound. */
export function bm25({ lexemeCount, frequencies }: LexicalCandidate, statistics: LexicalStatistics): number {
  const { chunkCount, totalLexemes, documentFrequencies } = statistics;
  const averageLength = chunkCount > 0 && totalLexemes > 0 ? totalLexemes / chunkCount : 1;
  const norm = k1 * (1 - b + (b * lexemeCount) / averageLength);
  let score = 0;
  for (const [at, frequency] of frequencies.entries()) {
    if (frequency <= 0) continue;
    // Counters are read at another moment than candidates: a df above N would make the logarithm negative.
    const df = Math.min(Math.max(documentFrequencies[at] ?? 0, 1), Math.max(chunkCount, 1));
    const idf = Math.log(1 + (chunkCount - df + 0.5) / (df + 0.5));
    score += (Math.max(idf, 0) * frequency * (k1 + 1)) / (frequency + norm);
  }
  return score;
}
