import Type from 'typebox';
import { parseApiEnv } from '../api/env.ts';
import { keyRingVariables, keyVariables, parseKeyRing, randomKeyRing } from '../db/key-ring.ts';
import { EnvironmentError, parseEnvironment, parseTogether } from '../ports/config/environment.ts';
import { parseWorkerEnv } from '../workers/env.ts';
import type { CliEnv } from './env.ts';
import { SetupError } from './setup-error.ts';

/** With the name of a database. */
const postgresUrl = { pattern: '^postgres(ql)?://[^\\s?]*/[^\\s/?]+(\\?\\S*)?$' };

const ServiceVariables = Type.Object({
  DATABASE_URL: Type.Optional(Type.String(postgresUrl)),
  DATABASE_OWNER_URL: Type.Optional(Type.String(postgresUrl)),
  API_INTERNAL_URL: Type.Optional(Type.String({ pattern: '^https?://[^/?#@\\s]+$', maxLength: 255 })),
  TEMPORAL_HTTP_ADDRESS: Type.Optional(Type.String({ pattern: '^[^\\s/]+:\\d+$' })),
});

/** Stand-ins for what `up` generates if it is not set; only their form matters here. */
const standIns = {
  PUBLIC_URL: 'http://127.0.0.1',
  STORAGE_DIR: '/attachments',
  DATABASE_APP_URL: 'postgres://127.0.0.1/longhaul',
  DATABASE_SWEEPER_URL: 'postgres://127.0.0.1/longhaul',
  REDIS_URL: 'redis://127.0.0.1',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
} as const;

/**
 * Checks every setting of the caller before anything is installed or started.
 * @throws SetupError that names each bad variable, and no value.
 */
export function checkSettings(env: CliEnv): void {
  const source: CliEnv = { ...standIns, ...keyRingVariables(randomKeyRing()), ...given(env) };
  try {
    parseTogether({
      services: () => parseEnvironment(ServiceVariables, env),
      api: () => parseApiEnv(source),
      keys: () => parseKeyRing(source),
      workers: () => parseWorkerEnv(source),
    });
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    throw new SetupError(`These settings cannot be used:\n${[...error.faults].map(([name, fault]) => `  ${name}: ${fault}`).join('\n')}`);
  }
}

/** An empty variable counts as absent, except for keys: no key is generated in place of one that was emptied. */
function given(env: CliEnv): CliEnv {
  const keys: readonly string[] = Object.values(keyVariables);
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => value !== undefined && (value !== '' || keys.includes(name))));
}
