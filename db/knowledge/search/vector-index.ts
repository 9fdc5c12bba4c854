/** A base with more chunks than this gets an index over its vectors. */
export const minIndexedChunks = 20_000;

/** The index is dropped again when the base has fewer chunks than this. */
export const minRetainedChunks = 10_000;

/** Name of the HNSW index over the vectors of one base. */
export function vectorIndexName(kbId: string): string {
  return `knowledge_vectors_hnsw_${kbId.replaceAll('-', '')}`;
}
