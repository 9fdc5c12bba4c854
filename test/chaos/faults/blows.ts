import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { ServiceName } from '../../../cli/services/service.ts';
import type { Fault } from '../../fakes/model-server.ts';
import type { Seeded } from '../../support/seeded.ts';
import type { ProcessName } from '../../support/stack.ts';
import { apis, runWorkers, type ChaosWorld } from '../world.ts';
import { dealFrom, type Blow, type Make } from './deal.ts';
import { freezeNames } from './freezes.ts';
import { familyOf, signalAll, stutter } from './processes.ts';

/** How long something is away, frozen or slow. */
const spell = (random: Seeded) => random.between(500, 9_000);

const deck: readonly Make[] = [
  ...(['worker', 'api'] as const).flatMap((role) => processBlows(role)),
  ...(['postgres', 'redis', 'temporal'] as const).flatMap((name) => serviceBlows(name)),
  () => ({ name: 'redis flushed', part: 'redis', strike: async (world) => commandRedis(world, (redis) => redis.flushall()) }),
  (random) => redisFull(spell(random)),
  ...modelBlows(),
  (random) => toolsSilent(random.between(500, 3_000)),
  ...runWorkers.map(
    (name): Make =>
      (random) =>
        clockJump(name, random),
  ),
  ...apis.map(
    (name): Make =>
      (random) =>
        clockJump(name, random),
  ),
];

/** Names of all blows, for the report. */
export const blowNames: readonly string[] = [
  ...new Set(deck.map((make) => make({ next: () => 0, between: (least) => least, pick: ([first]) => first as never }).name)),
  ...freezeNames,
];

/** So many blows, none twice before each has come once. */
export function dealBlows(random: Seeded, count: number): Blow[] {
  return dealFrom(deck, random, count);
}

function processBlows(role: 'worker' | 'api'): Make[] {
  const names: readonly ProcessName[] = role === 'api' ? apis : runWorkers;
  const blow = (how: string, act: (world: ChaosWorld, name: ProcessName, ms: number) => Promise<void>): Make => {
    return (random) => {
      const [name, ms] = [random.pick(names), spell(random)];
      return { name: `${role} ${how}`, part: name, strike: (world) => act(world, name, ms) };
    };
  };
  const end = (signal: NodeJS.Signals, isAway: boolean) => async (world: ChaosWorld, name: ProcessName, ms: number) => {
    if (role === 'worker') world.workersEnded += 1;
    await world.stack.kill(name, signal);
    if (isAway) await delay(ms / 2);
    await world.supervise(name);
  };
  return [
    blow('killed', end('SIGKILL', true)),
    blow('stopped', end('SIGTERM', true)),
    blow('restarted', end('SIGTERM', false)),
    blow('frozen', async (world, name, ms) => {
      await world.stack.kill(name, 'SIGSTOP');
      await delay(ms * 1.5);
      await world.stack.kill(name, 'SIGCONT');
    }),
    blow('slowed', (world, name, ms) => stutter([world.stack.pid(name)], ms)),
  ];
}

function serviceBlows(name: ServiceName): Make[] {
  const blow = (how: string, act: (world: ChaosWorld, ms: number) => Promise<void>): Make => {
    return (random) => {
      const ms = spell(random);
      return { name: `${name} ${how}`, part: name, strike: (world) => act(world, ms) };
    };
  };
  return [
    blow('killed', async ({ own }, ms) => {
      await own.kill(name);
      await delay(ms / 2);
      await own.up(name);
    }),
    blow('stopped', async ({ own }, ms) => {
      await own.halt(name);
      await delay(ms);
      await own.up(name);
    }),
    blow('restarted', ({ own }) => own.restart(name)),
    blow('frozen', async ({ own }, ms) => {
      const family = familyOf(own.pid(name));
      signalAll(family, 'SIGSTOP');
      await delay(ms);
      signalAll([...family, ...familyOf(own.pid(name))], 'SIGCONT');
    }),
    blow('slowed', async ({ ways }, ms) => {
      ways[name].delayMs = 150;
      await delay(ms);
      ways[name].delayMs = 0;
    }),
  ];
}

function redisFull(ms: number): Blow {
  const set = (world: ChaosWorld, limit: string) => commandRedis(world, (redis) => redis.config('SET', 'maxmemory', limit));
  return {
    name: 'redis out of memory',
    part: 'redis',
    async strike(world) {
      await set(world, '1');
      await delay(ms);
      await set(world, '0');
    },
  };
}

/** Shorter than a model's tries last, so that no run has to fail of it. */
function modelBlows(): Make[] {
  const weathers: [string, Fault][] = [
    ['model answers 429', { kind: 'status', status: 429, headers: { 'retry-after': '1' } }],
    ['model answers 500', { kind: 'status', status: 500 }],
    ['model answers garbage', { kind: 'garbage', after: 2 }],
    ['model resets', { kind: 'reset', after: 2 }],
    ['model falls silent', { kind: 'hang', after: 2 }],
  ];
  return weathers.map(([name, fault]) => (random) => {
    const ms = random.between(500, 3_000);
    return {
      name,
      part: 'model',
      async strike({ models }) {
        models.weather = fault;
        await delay(ms);
        models.weather = null;
      },
    };
  });
}

function toolsSilent(ms: number): Blow {
  return {
    name: 'tools hang',
    part: 'tools',
    async strike({ tools }) {
      tools.isSilent = true;
      await delay(ms);
      tools.isSilent = false;
    },
  };
}

/** Ten minutes on or back, and later right again, which is a jump too. */
function clockJump(name: ProcessName, random: Seeded): Blow {
  const [jumpMs, ms] = [random.pick([-600_000, -30_000, 30_000, 600_000]), spell(random)];
  return {
    name: 'clock jumps',
    part: `clock of ${name}`,
    async strike(world) {
      world.shiftClock(name, jumpMs);
      await delay(ms);
      world.shiftClock(name, 0);
    },
  };
}

async function commandRedis(world: ChaosWorld, command: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(world.own.services.redisUrl, { maxRetriesPerRequest: 20 });
  redis.on('error', () => undefined);
  await command(redis).finally(() => redis.disconnect());
}
