import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceName } from '../../../cli/services/service.ts';
import type { Seeded } from '../../support/seeded.ts';
import type { ProcessName } from '../../support/stack.ts';
import { apis, runWorkers, type ChaosWorld } from '../world.ts';
import { dealFrom, type Blow, type Make } from './deal.ts';
import { familyOf, signalAll } from './processes.ts';
import type { Range } from './rage.ts';

const services = ['postgres', 'redis', 'temporal'] as const satisfies readonly ServiceName[];
const processes = [...apis, ...runWorkers, 'worker-bulk'] as const satisfies readonly ProcessName[];

type Part = ProcessName | ServiceName;

/** What is frozen together, as a machine that is suspended, moved or throttled makes it. */
const together = {
  'one worker': ['worker-runs'],
  'both workers': runWorkers,
  'the bulk worker': ['worker-bulk'],
  'one API process': ['api'],
  'both API processes': apis,
  'PostgreSQL': ['postgres'],
  'Redis': ['redis'],
  'Temporal': ['temporal'],
  'all our processes': processes,
  'all services': services,
  'everything': [...processes, ...services],
} as const satisfies Readonly<Record<string, readonly Part[]>>;

export type Frozen = keyof typeof together;

export const everyFrozen = Object.keys(together).filter((name): name is Frozen => name in together);

/** Names of the blows, for the report. */
export const freezeNames = everyFrozen.map(nameOf);

/** Freezes parts of a deployment together for so long; no other blow strikes them meanwhile. */
export function freeze(world: ChaosWorld, frozen: Frozen, ms: number): Promise<void> {
  // Whoever takes several takes them in one order.
  return holding(world, [...together[frozen]].toSorted(), async () => {
    const families = () => together[frozen].flatMap((part) => familyOf(pidOf(world, part)));
    const stopped = families();
    signalAll(stopped, 'SIGSTOP');
    await delay(ms);
    signalAll([...stopped, ...families()], 'SIGCONT');
  });
}

/** Freezes, each of so many milliseconds, none twice before each has come once. */
export function dealFreezes(random: Seeded, { count, ms }: { readonly count: number; readonly ms: Range }): Blow[] {
  return dealFrom(
    everyFrozen.map(
      (frozen): Make =>
        (dealt) =>
          blowOf(frozen, dealt.between(...ms)),
    ),
    random,
    count,
  );
}

function blowOf(frozen: Frozen, ms: number): Blow {
  return { name: nameOf(frozen), part: `freeze of ${frozen}`, strike: (world) => freeze(world, frozen, ms) };
}

function nameOf(frozen: Frozen): string {
  return `${frozen} frozen, 5 s and more`;
}

async function holding(world: ChaosWorld, [part, ...others]: readonly Part[], work: () => Promise<void>): Promise<void> {
  if (part === undefined) return work();
  while (!(await world.alone(part, () => holding(world, others, work)))) await delay(50);
}

function pidOf({ own, stack }: ChaosWorld, part: Part): number {
  return part === 'postgres' || part === 'redis' || part === 'temporal' ? own.pid(part) : stack.pid(part);
}
