import type { Measurement, SearchOutcome } from '../../../workflows/contracts/measurements.ts';
import type { SearchResult } from './search.ts';

/** Measures how long a search takes and what comes of it; throws what it throws. */
export async function measureSearch(
  measure: (measurement: Measurement) => void,
  searcher: 'caller' | 'run',
  search: () => Promise<SearchResult>,
): Promise<SearchResult> {
  const startedAt = performance.now();
  let outcome: SearchOutcome = 'failed';
  try {
    const result = await search();
    outcome = outcomeOf(result);
    return result;
  } finally {
    measure({ kind: 'search', searcher, outcome, afterS: (performance.now() - startedAt) / 1_000 });
  }
}

function outcomeOf({ hits, degraded }: SearchResult): SearchOutcome {
  if (degraded.length > 0) return 'degraded';
  return hits.length === 0 ? 'nothing' : 'found';
}
