/** 0.975 quantile of the standard normal distribution. */
const normalQuantile = 1.959963984540054;

/**
 * The 95 % Wilson score interval of a share of `trials` > 0 (E. B. Wilson, 1927): its lower and its upper end. `z`: the quantile, for a spread that is itself
 * estimated.
 */
export function wilsonInterval(rate: number, trials: number, z = normalQuantile): readonly [low: number, high: number] {
  const spread = z * Math.sqrt((rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2));
  const middle = rate + z ** 2 / (2 * trials);
  const scale = 1 + z ** 2 / trials;
  return [Math.max(0, (middle - spread) / scale), Math.min(1, (middle + spread) / scale)];
}

/** Lower end of the 95 % Wilson score interval of `successes` in `trials` > 0. */
export function wilsonLower(successes: number, trials: number): number {
  return wilsonInterval(successes / trials, trials)[0];
}
