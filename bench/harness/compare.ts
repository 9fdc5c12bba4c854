import type { Budget, Finding, Sample, Spread } from './bench.ts';

/** The samples of each side, in the order of the rounds. */
export type Rounds<Side extends string> = Readonly<Record<Side, readonly Sample[]>>;

export interface Comparison<Side extends string> {
  readonly rounds: number;
  /** Rounds before the first that counts: compilers, pools and caches. */
  readonly warmUps: number;
  readonly sides: Readonly<Record<Side, () => Promise<Sample>>>;
}

/**
 * Runs the sides in turn, round by round (A B A B …), so that whatever else the machine does meets all of them alike: only ratios
 * within a round are compared.
 */
export async function compare<Side extends string>({ rounds, warmUps, sides }: Comparison<Side>): Promise<Rounds<Side>> {
  // The keys of a record of sides are the sides.
  const names = Object.keys(sides) as Side[];
  const samples = new Map<Side, Sample[]>(names.map((name) => [name, []]));

  for (let round = -warmUps; round < rounds; round++) {
    for (const name of names) {
      const sample = await sides[name]();
      if (round >= 0) samples.get(name)?.push(sample);
    }
  }
  return Object.fromEntries(samples) as Record<Side, Sample[]>; // one entry a side
}

export interface FindingOf<Side extends string> {
  readonly what: string;
  readonly unit: string;
  readonly metric: string;
  readonly floor: Side;
  readonly product: Side;
  readonly budget: Budget | null;
}

/** Compares one metric of two sides. */
export function finding<Side extends string>(
  rounds: Rounds<Side>,
  { what, unit, metric, floor, product, budget }: FindingOf<Side>,
): Finding {
  const floors = rounds[floor].map((sample) => valueOf(sample, metric));
  const products = rounds[product].map((sample) => valueOf(sample, metric));
  const ratios = products.map((value, round) => value / (floors[round] ?? Number.NaN));

  return { what, unit, floor: median(floors), product: median(products), ratio: spreadOf(ratios), rounds: ratios.length, budget };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value below which this share (0–1) of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

function valueOf(sample: Sample, metric: string): number {
  const value = sample[metric];
  if (value === undefined) throw new Error(`a side did not measure ${metric}`);
  return value;
}
