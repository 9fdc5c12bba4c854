import { setTimeout as delay } from 'node:timers/promises';
import type { Seeded } from '../../support/seeded.ts';
import type { ChaosWorld } from '../world.ts';
import type { Blow } from './deal.ts';

/** One blow as it fell. */
export interface Struck {
  readonly name: string;
  /** Unix times in milliseconds: when it fell, when all was well again. */
  readonly from: number;
  readonly to: number;
}

export type Range = readonly [least: number, most: number];

export interface RageOptions {
  readonly deal: (random: Seeded) => readonly Blow[];
  readonly pauseMs: Range;
}

/** Deals blows one after the other, some of them over each other; all is well again when it resolves. */
export async function rage(world: ChaosWorld, random: Seeded, { deal, pauseMs }: RageOptions): Promise<Struck[]> {
  const struck: Struck[] = [];
  const falling: Promise<unknown>[] = [];
  for (const blow of deal(random)) {
    falling.push(fall(world, blow).then((one) => struck.push(one)));
    await delay(random.between(...pauseMs));
  }
  await Promise.all(falling);
  return struck.toSorted((a, b) => a.from - b.from);
}

/** Two blows on one part come one after the other. */
async function fall(world: ChaosWorld, blow: Blow): Promise<Struck> {
  let [from, to] = [0, 0];
  const strike = async () => {
    from = Date.now();
    await blow.strike(world);
    to = Date.now();
  };
  while (!(await world.alone(blow.part, strike))) await delay(100);
  return { name: blow.name, from, to };
}
