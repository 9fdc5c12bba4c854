import { setTimeout as delay } from 'node:timers/promises';
import type { Seeded } from '../../support/seeded.ts';
import type { ChaosWorld } from '../world.ts';
import { dealBlows, type Blow } from './blows.ts';

/** One blow as it fell. */
export interface Struck {
  readonly name: string;
  /** Unix times in milliseconds: when it fell, when all was well again. */
  readonly from: number;
  readonly to: number;
}

export interface RageOptions {
  readonly blows: number;
  readonly pauseMs: readonly [least: number, most: number];
  /** Picks among what is dealt. */
  readonly isWanted?: (blow: Blow) => boolean;
}

/** Deals blows one after the other, some of them over each other; all is well again when it resolves. */
export async function rage(world: ChaosWorld, random: Seeded, { blows, pauseMs, isWanted }: RageOptions): Promise<Struck[]> {
  const struck: Struck[] = [];
  const falling: Promise<unknown>[] = [];
  for (const blow of dealBlows(random, blows).filter((one) => isWanted?.(one) ?? true)) {
    const from = Date.now();
    falling.push(
      world.alone(blow.part, async () => {
        await blow.strike(world);
        struck.push({ name: blow.name, from, to: Date.now() });
      }),
    );
    await delay(random.between(...pauseMs));
  }
  await Promise.all(falling);
  return struck.toSorted((a, b) => a.from - b.from);
}
