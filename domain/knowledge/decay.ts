/** How much the score of what nobody uses sinks: the maintenance policy of its base. */
export interface Decay {
  /** After so many days without use the part above `floor` has halved; at least 1. */
  readonly halfLifeDays: number;
  /** 0 to 1: what no score is multiplied with less than. */
  readonly floor: number;
}

const dayMs = 86_400_000;

/** What the score of an item is multiplied with: 1 when it has just been used, `floor` when that is long ago. */
export function decayFactor({ halfLifeDays, floor }: Decay, { usedAt, now }: { readonly usedAt: Date; readonly now: Date }): number {
  const days = Math.max(0, now.getTime() - usedAt.getTime()) / dayMs;
  return floor + (1 - floor) * 0.5 ** (days / halfLifeDays);
}
