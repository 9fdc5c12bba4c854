/** 0.975 quantile of the standard normal distribution. */
const z = 1.959963984540054;

/** Lower end of the 95 % Wilson score interval of `successes` in `trials` > 0 (E. B. Wilson, 1927). */
export function wilsonLower(successes: number, trials: number): number {
  const rate = successes / trials;
  const spread = z * Math.sqrt((rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2));
  return Math.max(0, (rate + z ** 2 / (2 * trials) - spread) / (1 + z ** 2 / trials));
}
