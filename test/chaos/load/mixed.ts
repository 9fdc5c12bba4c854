import { setTimeout as delay } from 'node:timers/promises';
import { seeded, type Seeded } from '../../support/seeded.ts';
import type { ProcessName } from '../../support/stack.ts';
import type { ChaosWorld } from '../world.ts';
import { answerQuestions, cancelLater, serveClient, steer } from './actors.ts';
import type { Kind } from './kinds.ts';
import { start, unlessEnded } from './start.ts';

export interface LoadOptions {
  readonly count: number;
  /** All starts come within this time. */
  readonly overMs: number;
  readonly kinds?: readonly Kind[];
}

/** How often a kind comes, by its repetitions. */
export const allKinds: readonly Kind[] = [
  ...['plain', 'plain', 'tools', 'tools', 'tools', 'line', 'line', 'cancelled', 'cancelled', 'flaky model', 'hanging tool'],
  ...[
    'huge output',
    'approvals',
    'approvals',
    'questions',
    "client's tools",
    'sub-agents',
    'sub-agents',
    'steered',
    'superseded',
    'delayed',
    'capped',
    'capped',
  ],
] as readonly Kind[];

/** Starts mixed runs and plays their people; resolves when nobody has anything to do any more. */
export async function mixedLoad(world: ChaosWorld, random: Seeded, options: LoadOptions): Promise<void> {
  const kinds = dealt(options.kinds ?? allKinds, options.count, random);
  const lines = Array.from({ length: 3 }, () => `line-${crypto.randomUUID()}`);
  const played: Promise<void>[] = [];
  for (const kind of kinds) {
    played.push(play(world, kind, { random: seeded(random.between(0, 2 ** 31)), line: random.pick(lines) }));
    await delay(random.between(0, (2 * options.overMs) / options.count));
  }
  await Promise.all(played);
}

/** Every kind comes about as often as it stands in the list. */
function dealt(kinds: readonly Kind[], count: number, random: Seeded): Kind[] {
  const left: Kind[] = [];
  return Array.from({ length: count }, () => {
    if (left.length === 0) left.push(...kinds);
    const [one] = left.splice(random.between(0, left.length - 1), 1);
    if (!one) throw new Error('no kinds to deal');
    return one;
  });
}

async function play(world: ChaosWorld, kind: Kind, { random, line }: { random: Seeded; line: string }): Promise<void> {
  if (kind === 'superseded') return supersede(world, random);
  const options = {
    ...(kind === 'line' ? { sessionKey: line } : {}),
    // Three calls, and not a fourth.
    ...(kind === 'capped' ? { limits: { max_cost: '0.045', on_budget: random.pick(['fail', 'wait'] as const) } } : {}),
    ...(kind === 'delayed' ? { startAfterMs: random.between(1_000, 12_000) } : {}),
  };
  const { runId } = await start(world, kind, random, options);
  if (runId === null) return;
  if (kind === 'cancelled') return cancelLater(world, runId, random);
  if (kind === 'steered') return steer(world, runId, random);
  if (kind === "client's tools") return serveClient(world, runId, random);
  if (kind === 'approvals' || kind === 'questions' || kind === 'sub-agents' || kind === 'capped')
    return answerQuestions(world, runId, random);
}

/** One run whose place another takes, in the middle. */
async function supersede(world: ChaosWorld, random: Seeded): Promise<void> {
  const sessionKey = `superseded-${crypto.randomUUID()}`;
  const first = await start(world, 'superseded', random, { sessionKey });
  if (first.runId !== null) await unlessEnded(world, first.runId, random.between(100, 4_000));
  await start(world, 'superseded', random, { sessionKey, onBusy: random.pick(['interrupt', 'rollback']) });
}

/** Calls of the killer tool cost the worker that makes them its life. One that is being struck already is left to its fate first. */
export function armKillers(world: ChaosWorld): void {
  world.tools.onEffect = async ({ path, body, clientPort }) => {
    if (path !== `/${world.cast.slugs.killer}`) return;
    for (let victim = world.workerOf(clientPort); victim !== null; victim = world.workerOf(clientPort)) {
      if (await strikeOne(world, victim, body)) return;
      await delay(100);
    }
  };
}

async function strikeOne(world: ChaosWorld, victim: ProcessName, body: string): Promise<boolean> {
  return world.alone(victim, async () => {
    world.kills.set(body, (world.kills.get(body) ?? 0) + 1);
    world.workersEnded += 1;
    await world.stack.kill(victim);
    await world.supervise(victim);
  });
}
