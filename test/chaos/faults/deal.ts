import type { Seeded } from '../../support/seeded.ts';
import type { ChaosWorld } from '../world.ts';

/** Something that can be done to a part of a deployment. `strike` resolves when all is well again. */
export interface Blow {
  /** As it stands in the report. */
  readonly name: string;
  /** What is struck: one thing at a time. */
  readonly part: string;
  strike(world: ChaosWorld): Promise<void>;
}

export type Make = (random: Seeded) => Blow;

/** So many out of a deck, none twice before each has come once. */
export function dealFrom(all: readonly Make[], random: Seeded, count: number): Blow[] {
  const left: Make[] = [];
  return Array.from({ length: count }, () => {
    if (left.length === 0) left.push(...all);
    const [make] = left.splice(random.between(0, left.length - 1), 1);
    if (!make) throw new Error('no blow is left');
    return make(random);
  });
}
