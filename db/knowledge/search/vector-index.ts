/** Chunks of a base above which its vectors get an index of their own. */
export const minIndexedChunks = 20_000;

/** And below which it is dropped again. */
export const leastIndexedChunks = 10_000;

/** Name of the HNSW index over the vectors of one base. */
export function vectorIndexName(kbId: string): string {
  return `knowledge_vectors_hnsw_${kbId.replaceAll('-', '')}`;
}
