import { setTimeout as delay } from 'node:timers/promises';
import type { OwnServices } from '../support/own-services.ts';
import { seeded } from '../support/seeded.ts';
import { collect } from './checker/collect.ts';
import { judge, type Verdict } from './checker/judge.ts';
import { freeze, type Frozen } from './faults/freezes.ts';
import type { Kind } from './load/kinds.ts';
import { mixedLoad } from './load/mixed.ts';
import { quiet, readersEnded } from './seed.ts';
import { apis, openWorld } from './world.ts';

export interface FreezeRow extends Verdict {
  /** From the last thaw until nothing lived any more. */
  readonly quietMs: number;
}

export interface FreezeOptions {
  /** One after the other. */
  readonly frozen: readonly Frozen[];
  readonly seconds: number;
  readonly runs: number;
  /** The runs start within this time. */
  readonly overMs: number;
}

/** Runs at each place where a freeze can meet them; none of them has a reason of its own to fail or to be cancelled. */
const kinds: readonly Kind[] = [
  'plain',
  'plain',
  'tools',
  'tools',
  'line',
  'line',
  'approvals',
  'sub-agents',
  "client's tools",
  'hanging tool',
];

/** One deployment under a load, of which parts are frozen for so long; judged once all is quiet. */
export async function freezeUnderLoad(own: OwnServices, { frozen, seconds, runs, overMs }: FreezeOptions): Promise<FreezeRow> {
  const world = await openWorld(own);
  try {
    const load = mixedLoad(world, seeded(seconds), { count: runs, overMs, kinds });
    // Some runs are on their way, others begin while it is frozen.
    while (world.record.seen.filter((seen) => seen.texts.length > 5).length < 8) await delay(50);
    for (const parts of frozen) {
      await freeze(world, parts, seconds * 1_000);
      await delay(1_000);
    }
    const thawedAt = performance.now();
    await load;
    await quiet(world);
    const quietMs = performance.now() - thawedAt;
    await readersEnded(world);
    const { stack, record, tools, models } = world;
    const facts = { stack, tenant: stack.tenant, client: record, effects: tools.effects, modelCalls: models.calls(), names: apis };
    return { quietMs, ...judge(await collect(facts), world.cast.slugs) };
  } finally {
    await world.close();
  }
}
