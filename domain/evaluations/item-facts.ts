import type { ResultFacts } from '../../db/evaluations/facts.ts';

/** A mean being computed, over the repetitions of one item. */
export interface Tally {
  sum: number;
  count: number;
  passed: number;
}

/** The results of one item's repetitions. */
export interface ItemFacts {
  readonly key: string;
  readonly contentSha256: string;
  readonly cluster: string | null;
  readonly tags: readonly string[];
  /** Repetitions with a verdict, how many passed, and their scores. */
  readonly verdicts: Tally;
  readonly evaluators: Map<string, Tally>;
}

/** Counts of one evaluator beside its values. */
export interface EvaluatorCounts {
  errors: number;
  skipped: number;
}

/** All results of an evaluation, summed by item. */
export interface EvaluationFacts {
  /** By position. */
  readonly items: readonly ItemFacts[];
  readonly evaluators: ReadonlyMap<string, EvaluatorCounts>;
  readonly results: number;
  readonly completed: number;
  readonly errors: number;
  readonly skipped: number;
  readonly latencies: readonly number[];
  readonly costs: readonly string[];
  readonly tokens: { readonly input: number; readonly output: number };
}

/** Sums up results, page by page. */
export interface FactsCollector {
  add(page: readonly ResultFacts[]): void;
  end(): EvaluationFacts;
}

/** A collector of the results of one evaluation, which arrive in the order of their items. */
export function collectFacts(): FactsCollector {
  const items: ItemFacts[] = [];
  const evaluators = new Map<string, EvaluatorCounts>();
  const counts = { results: 0, completed: 0, errors: 0, skipped: 0 };
  const latencies: number[] = [];
  const costs: string[] = [];
  const tokens = { input: 0, output: 0 };

  const itemOf = ({ itemKey: key, contentSha256, cluster, tags }: ResultFacts): ItemFacts => {
    const last = items.at(-1);
    if (last?.key === key) return last;
    const item = { key, contentSha256, cluster, tags, verdicts: emptyTally(), evaluators: new Map<string, Tally>() };
    items.push(item);
    return item;
  };
  const addScores = (item: ItemFacts, { scores }: ResultFacts): void => {
    for (const [key, [score, passed, state]] of Object.entries(scores)) {
      const count = evaluators.get(key) ?? { errors: 0, skipped: 0 };
      evaluators.set(key, count);
      if (state === 'error') count.errors += 1;
      if (state === 'skipped') count.skipped += 1;
      if (state !== 'done' || score === null) continue;
      const tally = item.evaluators.get(key) ?? emptyTally();
      item.evaluators.set(key, tally);
      addTo(tally, score, passed === true);
    }
  };

  return {
    add: (page) => {
      for (const result of page) {
        const item = itemOf(result);
        counts.results += 1;
        if (result.status === 'error') counts.errors += 1;
        if (result.status === 'skipped') counts.skipped += 1;
        if (['passed', 'failed', 'error', 'skipped'].includes(result.status)) counts.completed += 1;
        if (result.status === 'passed' || result.status === 'failed') addTo(item.verdicts, result.score ?? 0, result.status === 'passed');
        if (result.latencyMs !== null && !isCutOff(result)) latencies.push(result.latencyMs);
        if (result.cost !== null) costs.push(result.cost);
        tokens.input += result.tokens?.input ?? 0;
        tokens.output += result.tokens?.output ?? 0;
        addScores(item, result);
      }
    },
    end: () => ({ items, evaluators, ...counts, latencies, costs, tokens }),
  };
}

/** Whether the run was cancelled, or its answer no longer judged, because the evaluation ended: its latency means nothing. */
function isCutOff({ status, scores }: ResultFacts): boolean {
  return status === 'skipped' && Object.keys(scores).length === 0;
}

function emptyTally(): Tally {
  return { sum: 0, count: 0, passed: 0 };
}

function addTo(tally: Tally, score: number, isPassed: boolean): void {
  tally.sum += score;
  tally.count += 1;
  if (isPassed) tally.passed += 1;
}
