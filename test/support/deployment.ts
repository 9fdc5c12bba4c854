import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { builtProcess } from '../../cli/build-processes.ts';
import { freePort as freePortBut } from '../../cli/services/ports.ts';
import { keyRingVariables, randomKeyRing, type KeyRing } from '../../db/key-ring.ts';
import type { Databases } from '../../db/databases.ts';
import type { Temporal } from '../../temporal/client.ts';
import { storageDirOf } from './api.ts';
import { anchorFileOf, testDatabase } from './database.ts';
import { started } from './started.ts';
import { testNamespace, until } from './temporal.ts';
import { makeTenant, type TestTenant } from './tenant.ts';

const root = join(import.meta.dirname, '../..');
const keepsCompiled = join(import.meta.dirname, 'keeps-compiled.mjs');

export const processNames = ['api', 'api-2', 'worker-runs', 'worker-runs-2', 'worker-bulk'] as const;
export type ProcessName = (typeof processNames)[number];

/** A deployment of real processes on the test services: its own database, namespace, Redis prefix and keys. */
export interface Stack {
  readonly keys: KeyRing;
  readonly db: Databases;
  /** Superuser, past every policy: for looking at what is really there. */
  readonly adminUrl: string;
  /** The role that owns the tables. */
  readonly ownerUrl: string;
  readonly tenant: TestTenant;
  readonly redisPrefix: string;
  /** The test's own way to the deployment's namespace. */
  readonly temporal: Temporal;
  /** Origin of an API process; without a name that of the first. */
  url(name?: ProcessName): string;
  pid(name: ProcessName): number;
  start(name: ProcessName): Promise<void>;
  /** Sends a signal to one process and waits for its end unless it only stops or continues. */
  kill(name: ProcessName, signal?: NodeJS.Signals): Promise<number | null>;
  /** JSON request as the tenant's service key. */
  request(method: string, path: string, options?: RequestOptions): Promise<{ status: number; body: never; headers: Headers }>;
  stop(): Promise<void>;
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly credential?: string;
  readonly process?: ProcessName;
}

export interface StackOptions {
  readonly processes: readonly ProcessName[];
  /** `http://host:port/v1` of the scripted model server; without it the stack has only builtin/extractive. */
  readonly modelBaseUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Origins that the tenant's tools may reach. */
  readonly egressPorts?: readonly number[];
  /** Changes the environment of all processes, once it is complete: another way to a service, say. */
  readonly adapt?: (env: Readonly<Record<string, string>>) => Record<string, string>;
  /** Modules that every process loads first. */
  readonly imports?: readonly string[];
  /** Folder of the installation whose processes these are; this checkout unless given. */
  readonly installation?: string;
}

/** What the processes of a deployment work on, without a tenant. */
export interface Deployment extends Omit<Stack, 'tenant' | 'request'> {
  readonly publicUrl: string;
}

/** A deployment none of whose processes has been started. */
export async function openDeployment(options: Omit<StackOptions, 'processes' | 'egressPorts'>): Promise<Deployment> {
  const database = await testDatabase();
  const keys = randomKeyRing();
  const place = await testNamespace(keys);
  const redisPrefix = `${place.namespace}:`;
  const ports = {
    'api': await freePort(),
    'api-2': await freePort(),
    'worker-runs': await freePort(),
    'worker-runs-2': await freePort(),
    'worker-bulk': await freePort(),
  };
  const publicUrl = `http://127.0.0.1:${ports.api}`;
  const plain = stackEnvironment({ database, keys, place, redisPrefix, publicUrl, options });
  const env = options.adapt?.(plain) ?? plain;
  const children = new Map<ProcessName, ChildProcess>();

  const deployment: Deployment = {
    keys,
    db: database.db,
    adminUrl: database.adminUrl,
    ownerUrl: database.ownerUrl,
    redisPrefix,
    publicUrl,
    temporal: place.temporal,
    url: (name = 'api') => `http://127.0.0.1:${ports[name]}`,
    pid: (name) => children.get(name)?.pid ?? 0,
    async start(name) {
      children.set(
        name,
        spawnProcess(name, {
          env: { ...env, PORT: String(ports[name]), WORKER_HEALTH_PORT: String(ports[name]) },
          label: place.namespace,
          imports: options.imports ?? [],
          installation: options.installation ?? root,
        }),
      );
      await until(() => isServing(name, ports[name], children.get(name)));
    },
    async kill(name, signal = 'SIGKILL') {
      const child = children.get(name);
      if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
      if (signal === 'SIGSTOP' || signal === 'SIGCONT') {
        child.kill(signal);
        return null;
      }
      const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
      child.kill(signal);
      return ended;
    },
    async stop() {
      await Promise.all([...children.keys()].map((name) => deployment.kill(name, 'SIGCONT').then(() => deployment.kill(name))));
      await place.close();
      await rm(storageDirOf(redisPrefix), { recursive: true, force: true });
      await database.drop();
    },
  };
  return deployment;
}

/** The deployment as a new tenant of it uses it, whose tools reach the API and these ports. */
export async function withTenant(deployment: Deployment, egressPorts: readonly number[]): Promise<Stack> {
  const { db, keys, publicUrl, url } = deployment;
  const egressAllowlist = [Number(new URL(publicUrl).port), ...egressPorts].map((port) => ({ host: '127.0.0.1', port, allow_http: true }));
  const tenant = await makeTenant(db, keys, { publicUrl, egressAllowlist });

  return {
    ...deployment,
    tenant,
    async request(method, path, { body, headers, credential, process: name } = {}) {
      const answer = await fetch(url(name) + path, {
        method,
        headers: {
          authorization: `Bearer ${credential ?? tenant.serviceKey.plaintext}`,
          // The process at the other end of an older connection may have been killed.
          connection: 'close',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: (text === '' ? null : JSON.parse(text)) as never, headers: answer.headers }; // each test says what it expects
    },
  };
}

interface EnvironmentParts {
  readonly database: Awaited<ReturnType<typeof testDatabase>>;
  readonly keys: KeyRing;
  readonly place: Awaited<ReturnType<typeof testNamespace>>;
  readonly redisPrefix: string;
  readonly publicUrl: string;
  readonly options: Omit<StackOptions, 'processes' | 'egressPorts'>;
}

function stackEnvironment({ database, keys, place, redisPrefix, publicUrl, options }: EnvironmentParts): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'warn',
    DATABASE_APP_URL: database.appUrl,
    DATABASE_SWEEPER_URL: database.sweeperUrl,
    DATABASE_OWNER_URL: database.ownerUrl,
    REDIS_URL: process.env['REDIS_URL'] ?? '',
    REDIS_PREFIX: redisPrefix,
    TEMPORAL_ADDRESS: place.address,
    TEMPORAL_NAMESPACE: place.namespace,
    PUBLIC_URL: publicUrl,
    HOST: '127.0.0.1',
    STORAGE_DIR: storageDirOf(redisPrefix),
    AUDIT_ANCHOR_FILE: anchorFileOf(database),
    METRICS_TOKEN: 'metrics-token-of-the-tests',
    ...keyRingVariables(keys),
    ...(options.modelBaseUrl
      ? { LONGHAUL_MODEL_BASE_URL: options.modelBaseUrl, LONGHAUL_MODEL_API_KEY: 'test-key', LONGHAUL_MODEL: 'scripted' }
      : {}),
    ...options.env,
  };
}

interface Spawned {
  readonly env: Record<string, string>;
  readonly label: string;
  readonly imports: readonly string[];
  readonly installation: string;
}

function spawnProcess(name: ProcessName, { env, label, imports, installation }: Spawned): ChildProcess {
  const entry = builtProcess(name.startsWith('api') ? 'api' : name === 'worker-bulk' ? name : 'worker-runs', installation);
  const logs = join(root, '.longhaul/test-logs');
  mkdirSync(logs, { recursive: true });
  const flags = ['--disable-warning=ExperimentalWarning', ...[keepsCompiled, ...imports].flatMap((module) => ['--import', module])];
  started.processes += 1;
  const child = spawn(process.execPath, [...flags, entry], {
    cwd: installation,
    env,
    // Those that outlive a test file end with the Jest worker, however that ends (`ends-with-parent.mjs`).
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const log = createWriteStream(join(logs, `${label}-${name}.log`), { flags: 'a' });
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  return child;
}

async function isServing(name: ProcessName, port: number, child: ChildProcess | undefined): Promise<boolean> {
  if (child?.exitCode !== null && child?.exitCode !== undefined) throw new Error(`${name} ended with ${child.exitCode}`);
  const path = '/health/ready';
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(1_000) }).catch(() => null);
  if (answer?.status === 200) return true;
  await delay(50);
  return false;
}

const givenPorts = new Set<number>();

/**
 * Each Jest worker has ports of its own, below those of services: a process that has not been started yet, or was killed, holds its
 * port by nothing else.
 */
const portsEach = 2_000;
const firstPort = 10_000 + (Number(process.env['JEST_WORKER_ID'] ?? 1) % 5) * portsEach;

/** A port for a process of a test, which keeps it while it is killed and started again. */
export async function freePort(): Promise<number> {
  const port = await freePortBut(givenPorts, { from: firstPort, to: firstPort + portsEach });
  givenPorts.add(port);
  return port;
}
