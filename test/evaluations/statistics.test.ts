import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fullTest } from '../chaos/whole.ts';
import { benjaminiHochberg, bootstrap, conclusionOf, mcnemar } from '../../domain/evaluations/comparison.ts';
import { scoreInterval, shareInterval, stdevOf, tQuantile, type ItemValue } from '../../domain/evaluations/intervals.ts';
import { rate, rates } from '../../domain/evaluations/summary.ts';
import { coverageOf, simulations } from './coverage.ts';

interface Vectors {
  readonly wilson: readonly [number, number, number, number][];
  readonly t: readonly [number, number][];
  readonly mean: readonly [number[], number, number, number][];
  readonly cluster: readonly [number[], number[], number, number][];
  readonly mcnemar: readonly [number, number, number][];
  readonly bh: readonly [number[], number[]][];
  readonly bootstrap: readonly [number[], number, number, number, number][];
}

// Made by vectors.py beside it, with SciPy and statsmodels.
const vectors = JSON.parse(readFileSync(new URL('../fixtures/evaluations/vectors.json', import.meta.url), 'utf8')) as Vectors;
const never = async () => undefined;
const passed = (count: number, of: number): ItemValue[] =>
  Array.from({ length: of }, (_, at) => ({ value: at < count ? 1 : 0, cluster: null }));

test('10 of 10 passed shows [0.722467, 1], 18 of 20 [0.698966, 0.972134], 0 of 5 [0, 0.434482], nothing null; never [1, 1]', () => {
  const shown = (count: number, of: number) => rates(shareInterval(passed(count, of)).ci);
  const clustered = passed(50, 50).map((item, at) => ({ ...item, cluster: `c${at % 10}` }));

  expect([shown(10, 10), shown(18, 20), shown(0, 5)]).toEqual([
    [0.722467, 1],
    [0.698966, 0.972134],
    [0, 0.434482],
  ]);
  expect(shareInterval([])).toEqual({ ci: null, method: null });
  expect(rates(shareInterval(clustered).ci)).toEqual([0.722467, 1]);
});

test('8 wins to 2 losses are p 0.109375 and no difference, 12 to 3 are 0.035156 and better, no discordant pair is 1', () => {
  expect([rate(mcnemar(8, 2)), conclusionOf(10, mcnemar(8, 2), 6)]).toEqual([0.109375, 'no_difference']);
  expect([rate(mcnemar(12, 3)), conclusionOf(15, mcnemar(12, 3), 9), conclusionOf(15, mcnemar(3, 12), -9)]).toEqual([
    0.035156,
    'better',
    'worse',
  ]);
  expect([mcnemar(0, 0), conclusionOf(4, 0.001, 4)]).toEqual([1, 'not_enough_data']);
});

test('intervals, tests and adjustments are those of SciPy and statsmodels', async () => {
  for (const [k, n, low, high] of vectors.wilson) expectNear(shareInterval(passed(k, n)).ci, [low, high], 1e-12);
  for (const [degrees, quantile] of vectors.t) expectNear([tQuantile(degrees)], [quantile], 1e-9);
  for (const [values, low, high, stdev] of vectors.mean) {
    expectNear(scoreInterval(values), [low, high], 1e-9);
    expectNear([stdevOf(values) ?? Number.NaN], [stdev], 1e-12);
  }
  for (const [values, groups, low, high] of vectors.cluster)
    expectNear(shareInterval(values.map((value, at) => ({ value, cluster: String(groups[at]) }))).ci, [low, high], 1e-9);
  for (const [wins, losses, p] of vectors.mcnemar) expectNear([mcnemar(wins, losses)], [p], 1e-12);
  for (const [p, q] of vectors.bh)
    expectNear(
      benjaminiHochberg(p).map((value) => value ?? Number.NaN),
      q,
      1e-12,
    );
  for (const [values, mean, low, high, error] of vectors.bootstrap) {
    const found = await bootstrap(values, never);
    // Both draw at random: the ends of 10,000 resamples lie within a twelfth of the standard error of those of 200,000.
    expectNear(found.ci, [low, high], error / 12);
    expectNear([found.delta ?? Number.NaN], [mean], 1e-12);
  }
});

function expectNear(found: readonly number[] | null, wanted: readonly number[], within: number): void {
  expect(found).toHaveLength(wanted.length);
  for (const [at, value] of wanted.entries()) expect(Math.abs((found?.[at] ?? Number.NaN) - value)).toBeLessThanOrEqual(within);
}

test('an interval holds its mean within 0 and 1, is turned around with the values, and narrows with more of the same', () => {
  const some = fc.array(
    fc.record({ value: fc.constantFrom(0, 0.25, 0.5, 1), cluster: fc.constantFrom(null, 'a', 'b', 'c', 'd', 'e', 'f') }),
    {
      minLength: 1,
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(some, (items) => {
      const { ci, method } = shareInterval(items);
      const turned = shareInterval(items.map((item) => ({ ...item, value: 1 - item.value })));
      const [low = Number.NaN, high = Number.NaN] = ci ?? [];
      const mean = items.reduce((sum, { value }) => sum + value, 0) / items.length;
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
      expect(low - 1e-9).toBeLessThanOrEqual(mean);
      expect(high + 1e-9).toBeGreaterThanOrEqual(mean);
      expectNear(turned.ci, [1 - high, 1 - low], 1e-9);
      if (method === 'wilson') {
        const [wider = 0, narrower = 0] = [
          shareInterval([...items]),
          shareInterval([...items, ...items].map((item) => ({ ...item, cluster: null }))),
        ].map((found) => (found.ci?.[1] ?? 0) - (found.ci?.[0] ?? 0));
        expect(narrower).toBeLessThanOrEqual(wider + 1e-9);
      }
    }),
  );
});

test('equal rows give equal numbers to the last digit, and a difference that is nowhere is none', async () => {
  const values = vectors.bootstrap[1]?.[0] ?? [];

  expect(await bootstrap(values, never)).toEqual(await bootstrap(values, never));
  expect(await bootstrap([0, 0, 0, 0, 0, 0], never)).toEqual({ delta: 0, ci: [0, 0], p: 1 });
});

fullTest(
  '95 % intervals of 50 items and more, in 20 clusters and more if in any, hold the truth 93 to 97 times of 100 at rates from 0.1 to 0.9',
  () => {
    const promised = simulations.filter(({ isPromised }) => isPromised).map((one) => ({ ...one, coverage: coverageOf(one, 4_000) }));

    expect(promised).toHaveLength(25);
    // Without clusters it is exact: what Wilson's interval of 50 items gives at 0.1 and 0.9 is 97.03.
    expect(promised.filter(({ coverage }) => coverage < 0.93 || coverage > 0.9704)).toEqual([]);
  },
);
