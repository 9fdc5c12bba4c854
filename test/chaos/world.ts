import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startReceiver, type Receiver } from '../alerts/delivery-world.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startToolServer, type ToolServer } from '../fakes/tool-server.ts';
import type { OwnServices } from '../support/own-services.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import { newRecord, type ClientRecord } from './checker/record.ts';
import type { StreamWatcher } from './checker/watch.ts';
import { ownerOfConnection } from './faults/processes.ts';
import { startSlowProxy, type SlowProxy } from '../support/slow-proxy.ts';
import { makeCast, type Cast } from './load/cast.ts';

export const apis = ['api', 'api-2'] as const satisfies readonly ProcessName[];
export const runWorkers = ['worker-runs', 'worker-runs-2'] as const satisfies readonly ProcessName[];

/** A whole deployment to be maltreated, with all that stands around it: services, models, tools, and what its clients know. */
export interface ChaosWorld {
  readonly own: OwnServices;
  readonly stack: Stack;
  readonly models: ModelServer;
  readonly tools: ToolServer;
  /** Where notices of alerts arrive. */
  readonly receiver: Receiver;
  /** Where answers of runs arrive: callbacks, and what a channel is told. */
  readonly answers: Receiver;
  readonly cast: Cast;
  readonly record: ClientRecord;
  readonly watchers: StreamWatcher[];
  /** Ways of the deployment to its services. */
  readonly ways: Readonly<Record<'postgres' | 'redis' | 'temporal', SlowProxy>>;
  /** Workers that a call has killed, by its body. */
  readonly kills: Map<string, number>;
  /** How often a worker for runs was made to end. */
  workersEnded: number;
  /** Does something to a part of the deployment that nobody else does something to; false when somebody does. */
  alone(part: string, work: () => Promise<void>): Promise<boolean>;
  /** Nothing is done to any part of it now. */
  isCalm(): boolean;
  /** Lets the clock of one process jump by so much, or right again with 0. */
  shiftClock(name: ProcessName, ms: number): void;
  /** As a supervisor does it: a process that ends is started again until it stays. */
  supervise(name: ProcessName): Promise<void>;
  /** Which worker made a request to the tool server. */
  workerOf(clientPort: number): ProcessName | null;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** Connections of each process to PostgreSQL. */
  readonly poolMax?: number;
}

/** Starts it on services that this file owns. */
export async function openWorld(own: OwnServices, options: WorldOptions = {}): Promise<ChaosWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-chaos-'));
  const clocks = join(folder, 'clocks');
  mkdirSync(clocks);
  const [models, tools] = [await startModelServer(), await startToolServer()];
  const [receiver, answers] = [await startReceiver(), await startReceiver()];
  writeFileSync(join(folder, 'registry.json'), JSON.stringify(registryOf(models.baseUrl)));
  const ways = {
    postgres: await startSlowProxy(portOf(own.services.databaseUrl)),
    redis: await startSlowProxy(portOf(own.services.redisUrl)),
    temporal: await startSlowProxy(portOf(`http://${own.services.temporalAddress}`)),
  };
  const closeOutside = async () => {
    await Promise.all(Object.values(ways).map((way) => way.close()));
    tools.close();
    receiver.close();
    answers.close();
    await models.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const stack = await startStack({
    processes: [], // they are started as a supervisor does it
    egressPorts: [tools.port, receiver.port, answers.port],
    imports: [fileURLToPath(new URL('../support/clock-shift.ts', import.meta.url))],
    env: {
      DRAIN_SECONDS: '1',
      STREAMS_PER_PRINCIPAL: '10000',
      RATE_LIMITS: 'principal=off,workspace=off',
      CLOCK_SHIFT_DIR: clocks,
      LONGHAUL_MODEL_REGISTRY: join(folder, 'registry.json'),
      ...(options.poolMax === undefined ? {} : { DATABASE_POOL_MAX: String(options.poolMax) }),
    },
    adapt: (env) => throughProxies(env, ways),
  }).catch(async (error: unknown) => {
    await closeOutside();
    throw error;
  });
  const cast = await Promise.all([...apis, ...runWorkers, 'worker-bulk' as const].map((name) => startSurely(stack, name)))
    .then(() => makeCast(stack, tools))
    .catch(async (error: unknown) => {
      await stack.stop();
      await closeOutside();
      throw error;
    });

  const struck = new Set<string>();
  const world: ChaosWorld = {
    own,
    stack,
    models,
    tools,
    receiver,
    answers,
    cast,
    record: newRecord(),
    watchers: [],
    ways,
    kills: new Map(),
    workersEnded: 0,
    async alone(part, work) {
      if (struck.has(part)) return false;
      struck.add(part);
      await work().finally(() => struck.delete(part));
      return true;
    },
    isCalm: () => struck.size === 0,
    shiftClock: (name, ms) => writeFileSync(join(clocks, new URL(stack.url(name)).port), String(ms)),
    supervise: (name) => startSurely(stack, name),
    workerOf: (clientPort) => {
      const pids = runWorkers.map((name) => stack.pid(name));
      const owner = ownerOfConnection({ near: clientPort, far: tools.port }, pids);
      return owner === null ? null : (runWorkers[pids.indexOf(owner)] ?? null);
    },
    async close() {
      for (const watcher of world.watchers) watcher.stop();
      await stack.stop();
      await closeOutside();
    },
  };
  return world;
}

/** A model that is given up soon when it falls silent. */
function registryOf(baseUrl: string): object {
  const capabilities = { tools: true, parallel_tools: true, json: 'tool', reasoning: true, image: false, pdf: false, audio: false };
  const defaults = { context_window: 200_000, capabilities, first_token_s: 8, idle_s: 8 };
  return {
    providers: [{ id: 'fake', adapter: 'openai_compatible', base_url: baseUrl, default_model: 'scripted', model_defaults: defaults }],
    models: [{ provider: 'fake', name: 'scripted' }],
  };
}

function throughProxies(env: Readonly<Record<string, string>>, ways: ChaosWorld['ways']): Record<string, string> {
  const by = (variable: string, way: SlowProxy) => {
    const url = new URL(env[variable] ?? '');
    url.port = String(way.port);
    return { [variable]: url.href };
  };
  return {
    ...env,
    ...by('DATABASE_APP_URL', ways.postgres),
    ...by('DATABASE_SWEEPER_URL', ways.postgres),
    ...by('REDIS_URL', ways.redis),
    TEMPORAL_ADDRESS: `127.0.0.1:${ways.temporal.port}`,
  };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** Again and again, as whatever supervises a process does: without its database, which may be frozen for five minutes, it ends at once. */
async function startSurely(stack: Stack, name: ProcessName): Promise<void> {
  for (const end = performance.now() + 420_000; ;) {
    try {
      return await stack.start(name);
    } catch (error) {
      if (performance.now() > end) throw error;
      await stack.kill(name);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}
