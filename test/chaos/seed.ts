import { setTimeout as delay } from 'node:timers/promises';
import type { OwnServices } from '../support/own-services.ts';
import { seeded } from '../support/seeded.ts';
import { collect, leftoversOf } from './checker/collect.ts';
import type { Evidence } from './checker/evidence.ts';
import type { CauseKind } from './checker/record.ts';
import { outcomesOf } from './checker/judge-causes.ts';
import { judge, type Verdict } from './checker/judge.ts';
import { dealBlows } from './faults/blows.ts';
import type { Blow } from './faults/deal.ts';
import { dealFreezes } from './faults/freezes.ts';
import { rage, type Range, type Struck } from './faults/rage.ts';
import { causes, makeCauses, triggersOfEvent } from './load/causes.ts';
import { rewriteBudgets, setBudgets } from './load/budgets.ts';
import type { Kind, Slugs } from './load/kinds.ts';
import { armKillers, mixedLoad } from './load/mixed.ts';
import { start } from './load/start.ts';
import { apis, openWorld, type ChaosWorld, type WorldOptions } from './world.ts';

export interface SeedOptions extends WorldOptions {
  readonly seed: number;
  readonly runs: number;
  /** Starts come within this time, and blows about as long. */
  readonly overMs: number;
  readonly blows: number;
  readonly kinds?: readonly Kind[];
  readonly isWanted?: (blow: Blow) => boolean;
  /** Freezes among the blows, of several parts at once or of one, each as long as this. */
  readonly freezes?: { readonly count: number; readonly ms: Range };
  /** One run among them kills every worker that takes it. */
  readonly hasKiller?: boolean;
}

/** A blow and what came after it. */
export interface Recovered extends Struck {
  /** From the mending to the next frame that any subscriber got; null when there was nothing more to come. */
  readonly recoveryMs: number | null;
}

/** What a cause came to, and all that was broken meanwhile. */
export interface PlayedCause {
  readonly kind: CauseKind;
  readonly isTaken: boolean;
  readonly runs: number;
  readonly expected: number;
  readonly blows: readonly string[];
}

export interface SeedResult extends Verdict {
  readonly causes: readonly PlayedCause[];
  /** What was judged; not kept in the report. */
  readonly evidence: Evidence;
  readonly slugs: Slugs;
  readonly seed: number;
  readonly poolMax: number | null;
  readonly blows: readonly Recovered[];
  /** Longest wait of a client for the acknowledgement of its start. */
  readonly slowestStartMs: number;
  /** From the last blow and the last start until nothing lived any more. */
  readonly quietMs: number;
  readonly wholeMs: number;
}

const quietLimitMs = 300_000;
const readersLimitMs = 60_000;

/** One deployment, one load, one rage; judged once all is quiet. Equal seeds deal equal runs and equal blows. */
export async function runSeed(own: OwnServices, options: SeedOptions): Promise<SeedResult> {
  const { seed, runs, overMs, blows, kinds, isWanted, freezes } = options;
  const startedAt = performance.now();
  const world = await openWorld(own, options);
  try {
    armKillers(world);
    await setBudgets(world);
    const cast = await makeCauses(world);
    const pauseMs = [Math.floor((0.2 * overMs) / blows), Math.ceil((1.8 * overMs) / blows)] as const;
    const load = mixedLoad(world, seeded(seed), { count: runs, overMs, ...(kinds ? { kinds } : {}) });
    const [struck, frozen] = await Promise.all([
      rage(world, seeded(seed + 1), { deal: (random) => dealBlows(random, blows).filter(isWanted ?? (() => true)), pauseMs }),
      freezes
        ? rage(world, seeded(seed + 3), { deal: (random) => dealFreezes(random, freezes), pauseMs: [0, overMs / freezes.count] })
        : [],
      load,
      causes(world, seeded(seed + 5), { cast, overMs }),
      rewriteBudgets(world, seeded(seed + 4), load),
      options.hasKiller ? start(world, 'killer', seeded(seed + 2)) : null,
    ]);
    const calmAt = performance.now();
    await quiet(world);
    const quietMs = performance.now() - calmAt;
    await readersEnded(world);

    const evidence = await collect({
      stack: world.stack,
      tenant: world.stack.tenant,
      client: world.record,
      effects: world.tools.effects,
      answered: world.answers.received.map(({ headers }) => String(headers['webhook-id'])),
      arrived: world.receiver.received.map(({ headers }) => String(headers['webhook-id'])),
      modelCalls: world.models.calls(),
      kills: world.kills,
      workersEnded: world.workersEnded,
      names: apis,
    });
    const fallen = [...struck, ...frozen].toSorted((a, b) => a.from - b.from);
    return {
      ...judge(evidence, world.cast.slugs),
      causes: playedCauses(evidence, fallen),
      evidence,
      slugs: world.cast.slugs,
      seed,
      poolMax: options.poolMax ?? null,
      blows: recovered(world, fallen),
      slowestStartMs: Math.max(0, ...world.record.starts.map((one) => one.ms)),
      quietMs,
      wholeMs: performance.now() - startedAt,
    };
  } finally {
    await world.close();
  }
}

function playedCauses(evidence: Evidence, struck: readonly Struck[]): PlayedCause[] {
  return outcomesOf(evidence, triggersOfEvent).map(({ cause, runs, expected, endedAt }) => ({
    kind: cause.kind,
    isTaken: cause.isTaken,
    runs: runs.length,
    expected,
    blows: struck.filter(({ from, to }) => from < endedAt && to > cause.askedAt).map(({ name }) => name),
  }));
}

/** Waits until nothing lives; what does after the limit is for the judge to tell. */
export async function quiet(world: ChaosWorld): Promise<void> {
  for (const end = performance.now() + quietLimitMs; performance.now() < end; await delay(500)) {
    const left = await leftoversOf(world.stack, world.stack.tenant.organizationId).catch(() => null);
    if (left && Object.values(left).every((count) => count === 0)) return;
  }
}

/** Gives subscribers a minute to see the ends of their runs. */
export async function readersEnded(world: ChaosWorld): Promise<void> {
  const timer = setTimeout(() => world.watchers.forEach((watcher) => watcher.stop()), readersLimitMs);
  await Promise.all(world.watchers.map((watcher) => watcher.ended));
  clearTimeout(timer);
}

function recovered(world: ChaosWorld, struck: readonly Struck[]): Recovered[] {
  const times = world.record.seen.flatMap((seen) => seen.times).toSorted((a, b) => a - b);
  return struck.map((one) => {
    const next = times.find((time) => time >= one.to);
    return { ...one, recoveryMs: next === undefined ? null : next - one.to };
  });
}
