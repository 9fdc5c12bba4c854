import { Decimal } from 'decimal.js';
import type { ExpectedCall } from '../../workflows/contracts/evaluations.ts';
import { isPartOf, isSameJson } from './json-value.ts';
import { notApplicable, passedIf, scored, type MadeCall, type ScoredAnswer, type Scoring } from './scored.ts';

/** Parameters of `tool_trajectory`, filled in. */
export interface ToolTrajectory {
  readonly mode: 'exact' | 'in_order' | 'any_order' | 'subset';
  readonly arguments: 'exact' | 'subset' | 'ignore';
  readonly max_calls: number | null;
  readonly forbidden: readonly string[];
}

type Matches = (expected: ExpectedCall, made: MadeCall) => boolean;

/**
 * The share of expected calls that were made (`exact`: 1 or 0; `subset`: the share of the calls made that were expected); 0 when a forbidden tool was called,
 * or more calls were made than allowed.
 */
export function toolTrajectory(rules: ToolTrajectory, { calls, toolsExpected }: ScoredAnswer): Scoring {
  if (toolsExpected === null && rules.max_calls === null && rules.forbidden.length === 0)
    return notApplicable('The item has no expected calls.');
  const details = { made: calls.map(({ tool }) => tool).slice(0, 100) };
  const forbidden = calls.find(({ tool }) => rules.forbidden.includes(tool));
  if (forbidden !== undefined) return scored(0, `A forbidden tool was called: ${forbidden.tool}.`, details);
  if (rules.max_calls !== null && calls.length > rules.max_calls) return scored(0, `${calls.length} calls were made.`, details);
  if (toolsExpected === null) return scored(1, null, details);

  const share = shareOf(rules.mode, { expected: toolsExpected, calls, matches: matcherOf(rules.arguments) });
  return scored(share, share === 1 ? null : 'The calls differ from the expected ones.', details);
}

interface Trajectories {
  readonly expected: readonly ExpectedCall[];
  readonly calls: readonly MadeCall[];
  readonly matches: Matches;
}

function shareOf(mode: ToolTrajectory['mode'], { expected, calls, matches }: Trajectories): number {
  switch (mode) {
    case 'exact':
      return expected.length === calls.length && expected.every((call, at) => isMatch(matches, call, calls[at])) ? 1 : 0;
    case 'in_order':
      return expected.length === 0 ? 1 : longestInOrder({ expected, calls, matches }) / expected.length;
    case 'any_order':
      return expected.length === 0 ? 1 : maxPairs({ expected, calls, matches }) / expected.length;
    case 'subset':
      return calls.length === 0 ? 1 : calls.filter((made) => expected.some((call) => matches(call, made))).length / calls.length;
    default:
      return mode satisfies never;
  }
}

function matcherOf(rule: ToolTrajectory['arguments']): Matches {
  const fits = (expected: ExpectedCall, made: MadeCall): boolean => {
    if (rule === 'ignore' || expected.arguments === undefined) return true;
    return rule === 'exact' ? isSameJson(expected.arguments, made.arguments) : isPartOf(expected.arguments, made.arguments);
  };
  return (expected, made) => expected.tool === made.tool && fits(expected, made);
}

function isMatch(matches: Matches, expected: ExpectedCall, made: MadeCall | undefined): boolean {
  return made !== undefined && matches(expected, made);
}

/** The most expected calls that occur among the calls made in this order: the longest common subsequence. */
function longestInOrder({ expected, calls, matches }: Trajectories): number {
  let previous = calls.map(() => 0);
  for (const call of expected) {
    const next: number[] = [];
    for (const [at, made] of calls.entries()) {
      const before = at === 0 ? 0 : (previous[at - 1] ?? 0);
      next.push(Math.max(previous[at] ?? 0, next[at - 1] ?? 0, matches(call, made) ? before + 1 : 0));
    }
    previous = next;
  }
  return previous.at(-1) ?? 0;
}

/** The most expected calls that can each be paired with a call made: a maximum matching, by augmenting paths. */
function maxPairs({ expected, calls, matches }: Trajectories): number {
  const takenBy = new Map<number, number>();
  const give = (wanted: number, tried: Set<number>): boolean => {
    const call = expected[wanted];
    if (call === undefined) return false;
    for (const [at, made] of calls.entries()) {
      if (tried.has(at) || !matches(call, made)) continue;
      tried.add(at);
      const holder = takenBy.get(at);
      if (holder !== undefined && !give(holder, tried)) continue;
      takenBy.set(at, wanted);
      return true;
    }
    return false;
  };
  return expected.filter((_call, at) => give(at, new Set())).length;
}

/** The share of an answer's cited items that the run's own searches had found; fewer citations than `minCount`: 0. */
export function citations(minCount: number, { citedItemIds, foundItemIds }: ScoredAnswer): Scoring {
  const cited = [...new Set(citedItemIds)];
  if (cited.length < minCount) return scored(0, `${cited.length} items are cited.`, { cited: cited.length });
  if (cited.length === 0) return scored(1);
  const found = new Set(foundItemIds);
  const share = cited.filter((id) => found.has(id)).length / cited.length;
  return scored(share, share === 1 ? null : 'The answer cites an item that no search found.', { cited: cited.length });
}

/** 1 if the run's usage is within the maximum. */
export function bounded(type: 'latency' | 'cost' | 'tokens' | 'turns', max: number, answer: ScoredAnswer): Scoring {
  const used = usedOf(type, answer);
  return passedIf(new Decimal(used).lessThanOrEqualTo(max), `It took ${used}.`, { used });
}

function usedOf(type: 'latency' | 'cost' | 'tokens' | 'turns', { latencyMs, cost, tokens, turns }: ScoredAnswer): number | string {
  switch (type) {
    case 'latency':
      return latencyMs;
    case 'cost':
      return cost;
    case 'tokens':
      return tokens.input + tokens.output;
    case 'turns':
      return turns;
    default:
      return type satisfies never;
  }
}
