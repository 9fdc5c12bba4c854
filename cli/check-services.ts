import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { connectRedis } from '../db/streams/redis.ts';
import { openConnection } from '../temporal/connection.ts';
import type { CliEnv } from './env.ts';
import { SetupError } from './setup-error.ts';

/** How long to wait for a service that is just starting. */
const patienceMs = 8_000;
const probeMs = 3_000;

interface Probe {
  readonly variable: string;
  readonly service: string;
  readonly ask: () => Promise<unknown>;
}

/**
 * Waits up to about ten seconds until the services given by URL answer.
 * @throws SetupError that names each variable whose service doesn't answer, and why.
 */
export async function checkReachable(env: CliEnv, variables: readonly string[]): Promise<void> {
  const probes = probesOf(env).filter(({ variable }) => variables.includes(variable) && env[variable]);
  const faults = (await Promise.all(probes.map(faultOf))).filter((fault) => fault !== null);
  if (faults.length > 0) throw new SetupError(faults.join('\n'));
}

function probesOf(env: CliEnv): Probe[] {
  return [
    { variable: 'DATABASE_URL', service: 'PostgreSQL', ask: () => askPostgres(env['DATABASE_URL'] ?? '') },
    { variable: 'REDIS_URL', service: 'Redis', ask: () => askRedis(env['REDIS_URL'] ?? '') },
    { variable: 'TEMPORAL_ADDRESS', service: 'Temporal', ask: () => askTemporal(env) },
  ];
}

async function faultOf({ variable, service, ask }: Probe): Promise<string | null> {
  const end = Date.now() + patienceMs;
  for (;;) {
    try {
      await ask();
      return null;
    } catch (error) {
      if (isFinal(error) || Date.now() > end) return `${service} cannot be used with the value of ${variable}: ${reasonOf(error)}.`;
      await sleep(500);
    }
  }
}

async function askPostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: probeMs, application_name: 'longhaul-up' });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function askRedis(url: string): Promise<void> {
  let fault: Error | null = null;
  const redis = connectRedis(url, 'commands', (error) => (fault = error));
  try {
    await redis.ping();
  } catch (error) {
    throw fault ?? error;
  } finally {
    redis.disconnect();
  }
}

async function askTemporal(env: CliEnv): Promise<void> {
  const connection = openConnection({
    address: env['TEMPORAL_ADDRESS'] ?? '',
    namespace: '',
    isTls: env['TEMPORAL_TLS'] === 'true',
    apiKey: env['TEMPORAL_API_KEY'] ?? null,
  });
  try {
    await connection.withDeadline(Date.now() + probeMs, () => connection.workflowService.getSystemInfo({}));
  } finally {
    await connection.close().catch(() => undefined);
  }
}

/** An answer that waiting won't change: of PostgreSQL all but "starting up", of Redis a refused password. */
function isFinal(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code !== '57P03';
  return /^(WRONGPASS|NOAUTH)/.test(textOf(error, 'message'));
}

/** Returns what the service or the system says; an AggregateError has no text of its own, and a gRPC error exposes internals. */
function reasonOf(error: unknown): string {
  const details = textOf(error, 'details').replace(/ Resolution note:.*$/s, '');
  if (details.startsWith('Deadline exceeded')) return 'no answer in time';
  return details || textOf(error, 'message') || textOf(error, 'code') || 'no answer';
}

/** Not by class: under Jest, Node's errors have a different one. */
function textOf(error: unknown, field: 'message' | 'details' | 'code'): string {
  if (typeof error !== 'object' || error === null) return '';
  const value: unknown = Reflect.get(error, field);
  return typeof value === 'string' ? value : '';
}
