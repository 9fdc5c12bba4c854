/** Shares and intervals as people read them; null: there is none yet. */
export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? '–' : `${(share * 100).toFixed(1)} %`;
}

/** A share with its interval behind it. */
export function withInterval(share: number | null | undefined, interval: readonly number[] | null | undefined): string {
  return interval === null || interval === undefined
    ? percent(share)
    : `${percent(share)} (${percent(interval[0])} to ${percent(interval[1])})`;
}

export function fixed(value: number | null | undefined): string {
  return value?.toFixed(3) ?? '–';
}
