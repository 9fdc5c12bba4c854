import { setTimeout as delay } from 'node:timers/promises';
import { scripted } from '../../support/scenario.ts';
import { seeded, type Seeded } from '../../support/seeded.ts';
import { newMarker, type Start } from '../checker/record.ts';
import { watch } from '../checker/watch.ts';
import { apis, type ChaosWorld } from '../world.ts';
import { insist } from './insist.ts';
import { stepsOf, type Kind, type ScriptSource } from './kinds.ts';

export interface StartOptions {
  readonly sessionKey?: string;
  readonly onBusy?: 'enqueue' | 'interrupt' | 'rollback' | 'steer';
  readonly startAfterMs?: number;
  readonly limits?: { readonly max_cost: string; readonly on_budget: 'fail' | 'wait' };
}

/** The scripts of a world: numbers that come once, and the words of sub-agents. */
export function scriptSource(world: ChaosWorld, random: Seeded): ScriptSource {
  return {
    random,
    slugs: world.cast.slugs,
    nextNumber: () => lastNumber++,
    childTask: (steps) => {
      const name = crypto.randomUUID();
      world.models.script(name, { steps });
      return `Help out, ${newMarker()}. [script:${name}]`;
    },
  };
}

let lastNumber = 1;

/** Starts a run of a kind, once, through whichever process answers, and has it watched by two subscribers. */
export async function start(world: ChaosWorld, kind: Kind, random: Seeded, options: StartOptions = {}): Promise<Start> {
  const marker = newMarker();
  const { agentId } = world.cast;
  const names = random.pick([[...apis], apis.toReversed()]);
  const text = scripted({ steps: stepsOf(kind, scriptSource(world, random)) }, `Something ${kind}, ${marker}.`);
  const watchSeed = random.between(0, 2 ** 31);
  const started: Start = { kind, marker, agentId, sessionKey: options.sessionKey ?? null, runId: null, askedAt: Date.now(), ms: 0 };
  world.record.starts.push(started);

  const answer = await insist<{ id: string; code?: string }>(world, {
    path: '/runs',
    names,
    body: {
      agent_id: agentId,
      input: { text },
      ...(options.sessionKey === undefined ? {} : { session_key: options.sessionKey }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.onBusy === undefined ? {} : { on_busy: options.onBusy }),
      ...(options.startAfterMs === undefined ? {} : { start_after: new Date(Date.now() + options.startAfterMs).toISOString() }),
    },
  });
  if (answer === null) return started;
  if (answer.status !== 202) {
    world.record.surprises.push(`${answer.status} by a start (${kind}): ${JSON.stringify(answer.body).slice(0, 300)}`);
    return started;
  }
  started.runId = answer.body.id;
  started.ms = answer.ms;
  watchTwice(world, started.runId, { names, seed: watchSeed });
  return started;
}

/** One subscriber that stays and one that comes and goes, one over each wire. */
function watchTwice(world: ChaosWorld, runId: string, { names, seed }: { names: StartNames; seed: number }): void {
  const [staying, roaming] = seed % 2 === 0 ? (['sse', 'websocket'] as const) : (['websocket', 'sse'] as const);
  const watchers = [
    watch(world.stack, runId, { wire: staying, names, roams: null }),
    watch(world.stack, runId, { wire: roaming, names: names.toReversed(), roams: seeded(seed) }),
  ];
  world.watchers.push(...watchers);
  world.record.seen.push(...watchers.map(({ seen }) => seen));
}

type StartNames = readonly (typeof apis)[number][];

/** Waits, but no longer than until the run has been seen to end; true when it has not. */
export async function unlessEnded(world: ChaosWorld, runId: string, ms: number): Promise<boolean> {
  const isEnded = () => world.record.seen.some((seen) => seen.runId === runId && seen.isDone);
  for (const end = performance.now() + ms; performance.now() < end && !isEnded();) await delay(50);
  return !isEnded();
}
