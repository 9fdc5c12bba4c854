import { wilsonInterval } from '../feedback/wilson.ts';

/** Ends of a 95 % interval. */
export type Interval = readonly [low: number, high: number];

/** The interval of a share, and the method by which it was computed; both null without a value. */
export interface ShareInterval {
  readonly ci: Interval | null;
  readonly method: 'wilson' | 'cluster' | null;
}

/** One item's mean over its repetitions, between 0 and 1, with the cluster that the item belongs to. */
export interface ItemValue {
  readonly value: number;
  readonly cluster: string | null;
}

/** With fewer clusters, their variance can't be estimated well enough. */
const minClusters = 5;

/** Mean of numbers, summed in their order; null when there are none. */
export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Sample standard deviation (n − 1); null for fewer than two values. */
export function stdevOf(values: readonly number[]): number | null {
  const mean = meanOf(values);
  if (mean === null || values.length < 2) return null;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

/** A percentile by the nearest rank: the smallest value that at least `share` of the values do not exceed; null when there are none. */
export function percentileOf(values: readonly number[], share: number): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/**
 * The 95 % interval of a mean of shares: Wilson's with the number of items. With at least five clusters, Wilson's with the number of items that would vary
 * equally without clusters: the variance is the cluster-robust one (CR1: Liang and Zeger 1986, times G / (G − 1)), the quantile Student's t with clusters − 1
 * degrees of freedom (the effective sample size of survey statistics: Korn and Graubard 1998, Dean and Pavlou 2015). It follows the skew of a share, which a
 * symmetric interval does not. An item without a cluster is a cluster of its own.
 * When all clusters have the same mean their error is 0 and meaningless: then Wilson's with the number of clusters is used, so that no sample appears certain.
 */
export function shareInterval(items: readonly ItemValue[]): ShareInterval {
  const mean = meanOf(items.map(({ value }) => value));
  if (mean === null) return { ci: null, method: null };
  const clusters = clusterSums(items, mean);
  if (!items.some(({ cluster }) => cluster !== null) || clusters.length < minClusters)
    return { ci: wilsonInterval(mean, items.length), method: 'wilson' };

  const groups = clusters.length;
  const variance = (clusters.reduce((sum, deviation) => sum + deviation ** 2, 0) / items.length ** 2) * (groups / (groups - 1));
  if (variance < 1e-18) return { ci: wilsonInterval(mean, groups), method: 'wilson' };
  const effective = (mean * (1 - mean)) / variance;
  return { ci: wilsonInterval(mean, effective, tQuantile(groups - 1)), method: 'cluster' };
}

/** The 95 % interval of a mean of scores: Wilson's if all are 0 or 1, else Student's t; null for fewer than two. */
export function scoreInterval(values: readonly number[]): Interval | null {
  const mean = meanOf(values);
  if (mean === null) return null;
  if (values.every((value) => value === 0 || value === 1)) return wilsonInterval(mean, values.length);
  const stdev = stdevOf(values);
  if (stdev === null) return null;
  const spread = (tQuantile(values.length - 1) * stdev) / Math.sqrt(values.length);
  return [mean - spread, mean + spread];
}

/** The sums of the deviations from the mean within each cluster. */
function clusterSums(items: readonly ItemValue[], mean: number): number[] {
  const sums = new Map<string, number>();
  for (const [at, { value, cluster }] of items.entries()) {
    const name = cluster === null ? `item ${at}` : `cluster ${cluster}`;
    sums.set(name, (sums.get(name) ?? 0) + value - mean);
  }
  return [...sums.values()];
}

/** 0.975 quantile of Student's t with `degrees` degrees of freedom (≥ 1), to 12 digits: the distribution function is inverted by bisection. */
export function tQuantile(degrees: number): number {
  let low = 0;
  let high = 13;
  for (let step = 0; step < 64; step += 1) {
    const middle = (low + high) / 2;
    if (upperTail(middle, degrees) > 0.025) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(T > t) for t ≥ 0: half the regularized incomplete beta function at ν / (ν + t²) (Abramowitz and Stegun 26.7.1). */
function upperTail(t: number, degrees: number): number {
  return 0.5 * incompleteBeta(degrees / (degrees + t ** 2), degrees / 2, 0.5);
}

/** I_x(a, b), by the continued fraction of DLMF 8.17.22 where it converges fast. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(x, a, b)) / a : 1 - (front * betaFraction(1 - x, b, a)) / b;
}

/** Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  const apart = (value: number): number => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / apart(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= 500; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / apart(1 + even * d);
    c = apart(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / apart(1 + odd * d);
    c = apart(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return result;
}

/** Coefficients of Lanczos' approximation with g = 7, n = 9 (Godfrey). */
const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** ln Γ(x) for x > 0. */
function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const [first = 1, ...rest] = lanczos;
  const base = x + 6.5;
  const sum = rest.reduce((total, coefficient, at) => total + coefficient / (x + at), first);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(base) - base + Math.log(sum);
}
