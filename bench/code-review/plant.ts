import type { CorpusPull, Edit, Fault } from './corpus.ts';

/** A pull request that brings a fault in; its id is given where all are listed. */
export function plant(source: string, title: string, edits: readonly Edit[], fault: Fault): Omit<CorpusPull, 'id'> {
  return { source, title, edits, fault };
}
