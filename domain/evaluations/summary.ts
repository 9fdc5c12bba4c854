import { Decimal } from 'decimal.js';
import { money } from '../../db/money.ts';
import type { StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import type { EvaluationFacts, ItemFacts, Tally } from './item-facts.ts';
import { meanOf, percentileOf, scoreInterval, shareInterval, stdevOf, type Interval } from './intervals.ts';

const maxTags = 50;

/** The numbers of an evaluation's results so far, as on the wire, without those that compare it with another. */
export function summarize(facts: EvaluationFacts, evaluators: readonly StoredEvaluator[], judgeCost: string) {
  const { items, results, completed, errors, skipped, latencies, costs, tokens } = facts;
  const judged = items.filter(({ verdicts }) => verdicts.count > 0);
  const passes = shares(judged);
  const { ci, method } = shareInterval(passes);
  const runCost = costs.reduce((sum, cost) => sum.plus(cost), new Decimal(0));
  return {
    items: items.length,
    results,
    completed,
    errors,
    skipped,
    pass_rate: rate(meanOf(passes.map(({ value }) => value))),
    pass_ci: rates(ci),
    ci_method: method,
    score_mean: rate(meanOf(judged.map(({ verdicts }) => verdicts.sum / verdicts.count))),
    flip_rate: rate(flipRate(judged)),
    evaluators: Object.fromEntries(evaluators.map(({ key }) => [key, evaluatorNumbers(facts, key)])),
    by_tag: byTag(judged),
    latency_ms: { p50: percentileOf(latencies, 0.5), p95: percentileOf(latencies, 0.95) },
    cost: {
      total: money(runCost.plus(judgeCost)),
      mean: costs.length === 0 ? null : money(runCost.dividedBy(costs.length)),
      judges: money(judgeCost),
    },
    tokens: { input: tokens.input, output: tokens.output },
  };
}

/** A rate on the wire: at most 6 decimals. */
export function rate(value: number): number;
export function rate(value: number | null): number | null;
export function rate(value: number | null): number | null {
  return value === null ? null : Number(value.toFixed(6)) + 0;
}

/** Both ends of an interval on the wire. */
export function rates(ci: Interval | null): [number, number] | null {
  return ci === null ? null : [rate(ci[0]), rate(ci[1])];
}

/** An item passes when more than half of its repetitions with a verdict did. */
export function hasPassed({ verdicts }: ItemFacts): boolean {
  return verdicts.passed * 2 > verdicts.count;
}

/** The share of an item's repetitions that passed. */
export function passShare({ verdicts }: ItemFacts): number {
  return verdicts.passed / verdicts.count;
}

function shares(judged: readonly ItemFacts[]) {
  return judged.map((item) => ({ value: passShare(item), cluster: item.cluster }));
}

function flipRate(judged: readonly ItemFacts[]): number | null {
  const repeated = judged.filter(({ verdicts }) => verdicts.count >= 2);
  if (repeated.length === 0) return null;
  return repeated.filter(({ verdicts }) => verdicts.passed > 0 && verdicts.passed < verdicts.count).length / repeated.length;
}

function evaluatorNumbers({ items, evaluators }: EvaluationFacts, key: string) {
  const tallies = items.flatMap((item): readonly Tally[] => {
    const tally = item.evaluators.get(key);
    return tally ? [tally] : [];
  });
  const means = tallies.map(({ sum, count }) => sum / count);
  const { errors, skipped } = evaluators.get(key) ?? { errors: 0, skipped: 0 };
  return {
    n: means.length,
    mean: rate(meanOf(means)),
    stdev: rate(stdevOf(means)),
    pass_rate: rate(meanOf(tallies.map(({ passed, count }) => passed / count))),
    ci: rates(scoreInterval(means)),
    p50: rate(percentileOf(means, 0.5)),
    errors,
    skipped,
  };
}

function byTag(judged: readonly ItemFacts[]) {
  const tagged = new Map<string, ItemFacts[]>();
  for (const item of judged) {
    for (const tag of item.tags) {
      const items = tagged.get(tag);
      if (items) items.push(item);
      else tagged.set(tag, [item]);
    }
  }
  const most = [...tagged]
    .toSorted(([left, some], [right, others]) => others.length - some.length || (left < right ? -1 : 1))
    .slice(0, maxTags);
  return Object.fromEntries(
    most.map(([tag, items]) => {
      const passes = shares(items);
      return [
        tag,
        { n: items.length, pass_rate: rate(meanOf(passes.map(({ value }) => value))), pass_ci: rates(shareInterval(passes).ci) },
      ];
    }),
  );
}
