import { shareInterval, type ItemValue } from '../../domain/evaluations/intervals.ts';

/** Data sets that are drawn again and again: how many items, how often one passes, and in how many clusters they hang together. */
export interface Simulation {
  readonly items: number;
  readonly rate: number;
  /** 0: none. */
  readonly clusters: number;
  /** Correlation of two items of one cluster. */
  readonly correlation: number;
  /** Whether the interval is to hold the rate 93 to 97 times of 100. */
  readonly isPromised: boolean;
}

const rates = [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98];

/** `node test/evaluations/coverage.ts` prints the table of docs/evaluations.md, from 20,000 draws where sets have clusters. */
export const simulations: readonly Simulation[] = [
  ...[5, 10, 20, 50, 200].flatMap((items) => rates.map((rate) => simulation({ items, rate, clusters: 0, correlation: 0 }))),
  ...[
    [50, 5],
    [50, 10],
    [100, 20],
    [200, 40],
    [400, 40],
  ].flatMap(([items = 0, clusters = 0]) => rates.map((rate) => simulation({ items, rate, clusters, correlation: 0.1 }))),
];

function simulation(given: Omit<Simulation, 'isPromised'>): Simulation {
  const { items, rate, clusters } = given;
  return { ...given, isPromised: items >= 50 && rate >= 0.1 && rate <= 0.9 && (clusters === 0 || clusters >= 20) };
}

/**
 * How often the interval holds the true rate. Without clusters that is computed, as the sum of the chances of all counts whose interval holds it; with clusters it is counted in so many draws,
 * which are the same each time.
 */
export function coverageOf(one: Simulation, draws: number): number {
  return one.clusters === 0 ? exactCoverage(one) : drawnCoverage(one, draws);
}

function exactCoverage({ items, rate }: Simulation): number {
  let logChance = items * Math.log1p(-rate);
  let held = 0;
  for (let passed = 0; passed <= items; passed += 1) {
    if (
      isHeld(
        rate,
        Array.from({ length: items }, (_, at) => ({ value: at < passed ? 1 : 0, cluster: null })),
      )
    )
      held += Math.exp(logChance);
    logChance += Math.log(((items - passed) / (passed + 1)) * (rate / (1 - rate)));
  }
  return held;
}

function drawnCoverage(one: Simulation, draws: number): number {
  const next = randomNumbers(1_234_567);
  let held = 0;
  for (let draw = 0; draw < draws; draw += 1) if (isHeld(one.rate, clustered(one, next))) held += 1;
  return held / draws;
}

function isHeld(rate: number, values: readonly ItemValue[]): boolean {
  const [low = 1, high = 0] = shareInterval(values).ci ?? [];
  return low <= rate && rate <= high;
}

/** Each item does as its cluster does with the square root of the correlation as chance, else as it likes: pairs then correlate so much. */
function clustered({ items, rate, clusters, correlation }: Omit<Simulation, 'isPromised'>, next: () => number): ItemValue[] {
  const follows = Math.sqrt(correlation);
  const common = Array.from({ length: clusters }, () => (next() < rate ? 1 : 0));
  return Array.from({ length: items }, (_, at) => {
    const own = next() < rate ? 1 : 0;
    return { value: next() < follows ? (common[at % clusters] ?? 0) : own, cluster: String(at % clusters) };
  });
}

/** Mulberry32. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

if (process.argv[1] === import.meta.filename)
  for (const one of simulations)
    process.stdout.write(
      `${[one.items, one.clusters || '-', one.rate, (100 * coverageOf(one, 20_000)).toFixed(1), one.isPromised ? 'promised' : ''].join('\t')}\n`,
    );
