import { meanOf, type Interval } from './intervals.ts';

/** The conclusion of a comparison. */
export type Conclusion = 'better' | 'worse' | 'no_difference' | 'not_enough_data';

/** The difference of two sides over items that both have. */
export interface Difference {
  /** Mean of the differences; null when there are none. */
  readonly delta: number | null;
  readonly ci: Interval | null;
  readonly p: number | null;
}

/** Yields the event loop; awaited between slices of long work. */
export type Pause = () => Promise<void>;

const resamples = 10_000;
/** Seed of the random numbers, fixed so that equal rows yield equal numbers. */
const seed = 0x2545f491;
/** Draws between two pauses: a few milliseconds. */
const drawsASlice = 500_000;
const minPairs = 5;
const level = 0.05;

/**
 * Exact two-sided McNemar test over discordant pairs: twice the smaller tail of the binomial distribution with one half, at most 1 (Q. McNemar, 1947; the exact
 * form is the sign test). No discordant pair: 1.
 */
export function mcnemar(wins: number, losses: number): number {
  const trials = wins + losses;
  if (trials === 0) return 1;
  let term = -trials * Math.LN2; // ln of C(n, 0) / 2^n
  let tail = 0;
  for (let k = 0; k <= Math.min(wins, losses); k += 1) {
    tail += Math.exp(term);
    term += Math.log((trials - k) / (k + 1));
  }
  return Math.min(1, 2 * tail);
}

/**
 * Paired bootstrap of a mean difference: percentile interval of 10,000 resamples, and a two-sided p that counts the sample itself once ((k + 1) / (B + 1),
 * Davison and Hinkley 1997). The result depends on the order of the differences, which the caller chooses.
 */
export async function bootstrap(differences: readonly number[], pause: Pause): Promise<Difference> {
  const delta = meanOf(differences);
  if (delta === null) return { delta: null, ci: null, p: null };
  if (differences.every((difference) => difference === 0)) return { delta: 0, ci: [0, 0], p: 1 };

  const means = await resampledMeans(differences, pause);
  const below = means.filter((mean) => mean <= 0).length;
  const above = means.filter((mean) => mean >= 0).length;
  const p = Math.min(1, (2 * (Math.min(below, above) + 1)) / (resamples + 1));
  const sorted = Float64Array.from(means).toSorted();
  const at = (share: number): number => sorted[Math.ceil(share * resamples) - 1] ?? delta;
  return { delta, ci: [at(0.025), at(0.975)], p };
}

async function resampledMeans(differences: readonly number[], pause: Pause): Promise<number[]> {
  const next = randomIndex(differences.length);
  const values = Float64Array.from(differences);
  const means: number[] = [];
  let drawn = 0;
  while (means.length < resamples) {
    let sum = 0;
    for (let draw = 0; draw < values.length; draw += 1) sum += values[next()] ?? 0;
    means.push(sum / values.length);
    drawn += values.length;
    if (drawn < drawsASlice) continue;
    drawn = 0;
    await pause();
  }
  return means;
}

/** Numbers from 0 to `count` − 1: Mulberry32 (T. Ettinger), whose period of 2³² exceeds all draws of one bootstrap. */
function randomIndex(count: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * count);
  };
}

/** Benjamini and Hochberg's adjusted p-values (1995), in the order given; null stays null and is no test. */
export function benjaminiHochberg(values: readonly (number | null)[]): (number | null)[] {
  const tests = values.flatMap((p, at) => (p === null ? [] : [{ p, at }])).toSorted((left, right) => left.p - right.p);
  const adjusted: (number | null)[] = values.map(() => null);
  let smallest = 1;
  for (const [rank, { p, at }] of [...tests.entries()].toReversed()) {
    smallest = Math.min(smallest, (p * tests.length) / (rank + 1));
    adjusted[at] = smallest;
  }
  return adjusted;
}

/** The conclusion from a p- or q-value of a difference over `pairs` pairs; `direction` above 0: better. */
export function conclusionOf(pairs: number, p: number | null, direction: number): Conclusion {
  if (pairs < minPairs || p === null) return 'not_enough_data';
  if (p >= level || direction === 0) return 'no_difference';
  return direction > 0 ? 'better' : 'worse';
}
