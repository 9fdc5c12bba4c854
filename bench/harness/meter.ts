import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { testServices } from '../../test/support/services.ts';
import type { ProcessName, Stack } from '../../test/support/stack.ts';
import { databaseUrls } from './deployment.ts';
import { record } from '../probe/client.ts';

/** What some work has cost: processor milliseconds by kind of process, what was sent, and what is stored of it. */
export interface Cost {
  readonly api: number;
  readonly worker: number;
  readonly postgres: number;
  readonly redis: number;
  readonly temporal: number;
  /** Bytes of tables and indexes. */
  readonly stored: number;
  /** Bytes of Redis. */
  readonly cached: number;
  /** Batches of statements to PostgreSQL, of API and worker. */
  readonly roundTrips: number;
  readonly commands: number;
  /** Calls of the API's client to Temporal; those of a worker are made inside its native core. */
  readonly calls: number;
}

export const costNames = ['api', 'worker', 'postgres', 'redis', 'temporal', 'roundTrips', 'commands', 'calls', 'stored', 'cached'] as const;
const nothing = Object.fromEntries(costNames.map((name) => [name, 0])) as unknown as Cost; // one entry a name
/** Milliseconds of a clock tick of /proc (USER_HZ, which Linux fixes at 100 for all architectures that Node runs on). */
const msPerTick = 10;
const idleMs = 10_000;

/** Measures what work costs a deployment, less what the same time costs it without work. */
export interface Meter {
  /** What one of `count` costs, of which `work` does all. */
  per(count: number, work: () => Promise<unknown>): Promise<Cost>;
  /** Looks at the deployment while it does nothing; to be repeated when what runs or waits has changed for good. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

export async function openMeter(stack: Stack, services: readonly { readonly name: string; readonly pid: number }[]): Promise<Meter> {
  const admin = new pg.Client({ connectionString: databaseUrls(stack).adminUrl });
  await admin.connect();
  const redis = new Redis(testServices().redisUrl);
  let idleASecond = nothing;

  const spent = async (): Promise<Omit<Cost, 'roundTrips' | 'commands' | 'calls'>> => {
    const ofServices = (name: string) => ticksOf(services.filter((service) => service.name === name).map(({ pid }) => pid)) * msPerTick;
    const { rows } = await admin.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
    return {
      api: ticksOf(runningOf(stack, 'api')) * msPerTick,
      worker: ticksOf(runningOf(stack, 'worker-runs')) * msPerTick,
      postgres: ofServices('postgres'),
      redis: ofServices('redis'),
      temporal: ofServices('temporal'),
      stored: Number(rows[0]?.bytes),
      cached: Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]),
    };
  };

  async function measure(work: () => Promise<unknown>): Promise<{ readonly cost: Cost; readonly seconds: number }> {
    const before = await spent();
    const startedAt = performance.now();
    const events = await recordAll([...runningOf(stack, 'api'), ...runningOf(stack, 'worker-runs')], work);
    const seconds = (performance.now() - startedAt) / 1_000;
    const after = await spent();
    const counted = (kind: string) => events.filter((event) => event.kind === kind && event.isRoundTrip !== false).length;
    const sent = { roundTrips: counted('sql'), commands: events.filter(({ kind }) => kind === 'redis').length, calls: counted('temporal') };
    return { cost: combined({ ...nothing, ...after, ...sent }, { ...nothing, ...before }, (now, then) => now - then), seconds };
  }

  return {
    async per(count, work) {
      const { cost, seconds } = await measure(work);
      return combined(cost, idleASecond, (whole, idle) => (whole - idle * seconds) / count);
    },
    async settle() {
      const { cost, seconds } = await measure(() => delay(idleMs));
      idleASecond = combined(cost, nothing, (idle) => idle / seconds);
    },
    async stop() {
      redis.disconnect();
      await admin.end();
    },
  };
}

/** Each number of two costs put together. */
export function combined(left: Cost, right: Cost, how: (left: number, right: number) => number): Cost {
  return Object.fromEntries(costNames.map((name) => [name, how(left[name], right[name])])) as unknown as Cost; // the same names
}

/** None before it has been started: its pid is 0 then. */
function runningOf(stack: Stack, name: ProcessName): number[] {
  const pid = stack.pid(name);
  return pid === 0 ? [] : [pid];
}

async function recordAll(pids: readonly number[], work: () => Promise<unknown>): Promise<Awaited<ReturnType<typeof record>>> {
  const [pid, ...others] = pids;
  if (pid === undefined) {
    await work();
    return [];
  }
  let ofOthers: Awaited<ReturnType<typeof record>> = [];
  const own = await record(pid, async () => {
    ofOthers = await recordAll(others, work);
  });
  return [...own, ...ofOthers];
}

/** Processor time of processes, their children and those of them that have ended (proc_pid_stat(5), fields 14 to 17). */
function ticksOf(pids: readonly number[]): number {
  const all = readdirSync('/proc').flatMap((name) => statOf(Number(name)));
  const familyOf = (pid: number): number => {
    const own = all.find((stat) => stat.pid === pid);
    const children = all.filter((stat) => stat.parent === pid);
    return (own?.ticks ?? 0) + children.reduce((sum, child) => sum + familyOf(child.pid), 0);
  };
  return pids.reduce((sum, pid) => sum + familyOf(pid), 0);
}

function statOf(pid: number): { readonly pid: number; readonly parent: number; readonly ticks: number }[] {
  if (!Number.isInteger(pid)) return [];
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [{ pid, parent: Number(fields[1]), ticks }];
  } catch {
    return []; // it has ended
  }
}
