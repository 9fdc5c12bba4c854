import Type from 'typebox';
import { parseKeyRing, type KeyRing } from '../db/identity/key-ring.ts';
import { parseEnvironment, parseTogether } from '../ports/environment.ts';
import { loadModelRegistry, type ModelEnv } from '../ports/models.ts';
import type { TemporalAddress } from '../temporal/connection.ts';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const WorkerVariables = Type.Object({
  LOG_LEVEL: Type.Enum([...logLevels], { default: 'info' }),
  DATABASE_APP_URL: Type.String({ pattern: '^postgres(ql)?://' }),
  DATABASE_SWEEPER_URL: Type.String({ pattern: '^postgres(ql)?://' }),
  DATABASE_POOL_MAX: Type.Integer({ default: 20, minimum: 2, maximum: 200 }),
  REDIS_URL: Type.String({ pattern: '^rediss?://' }),
  REDIS_PREFIX: Type.String({ default: 'lh:', maxLength: 60 }),
  TEMPORAL_ADDRESS: Type.String({ pattern: '^[^\\s/]+:\\d+$' }),
  TEMPORAL_NAMESPACE: Type.String({ default: 'longhaul', maxLength: 200 }),
  TEMPORAL_TLS: Type.Boolean({ default: false }),
  TEMPORAL_API_KEY: Type.Optional(Type.String({ minLength: 1 })),
  EGRESS_ALLOW_HTTP: Type.Boolean({ default: false }),
  BILLING_CURRENCY: Type.String({ default: 'USD', pattern: '^[A-Z]{3}$' }),
  WORKER_HEALTH_HOST: Type.String({ default: '127.0.0.1' }),
  WORKER_HEALTH_PORT: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
});

/** What a worker process was told, parsed once. */
export interface WorkerEnv {
  readonly logLevel: (typeof logLevels)[number];
  readonly databaseAppUrl: string;
  readonly databaseSweeperUrl: string;
  readonly databasePoolMax: number;
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly temporal: TemporalAddress;
  readonly keys: KeyRing;
  readonly allowHttp: boolean;
  readonly billingCurrency: string;
  /** Where probes and scrapes are answered; null: nowhere, the log alone tells. */
  readonly health: { readonly host: string; readonly port: number } | null;
  /** The whole environment, for the model registry, which may name any variable that holds a key. */
  readonly models: ModelEnv;
}

/** Parses the variables of a worker; throws one error that names every bad one. */
export function parseWorkerEnv(source: Readonly<Record<string, string | undefined>>): WorkerEnv {
  const { values, keys } = parseTogether({
    values: () => parseEnvironment(WorkerVariables, source),
    keys: () => parseKeyRing(source),
    // Loaded again, and told, when there is a log.
    models: () => loadModelRegistry(source, { info: () => undefined }),
  });

  return Object.freeze({
    logLevel: values.LOG_LEVEL,
    databaseAppUrl: values.DATABASE_APP_URL,
    databaseSweeperUrl: values.DATABASE_SWEEPER_URL,
    databasePoolMax: values.DATABASE_POOL_MAX,
    redisUrl: values.REDIS_URL,
    redisPrefix: values.REDIS_PREFIX,
    temporal: {
      address: values.TEMPORAL_ADDRESS,
      namespace: values.TEMPORAL_NAMESPACE,
      isTls: values.TEMPORAL_TLS,
      apiKey: values.TEMPORAL_API_KEY ?? null,
    },
    keys,
    allowHttp: values.EGRESS_ALLOW_HTTP,
    billingCurrency: values.BILLING_CURRENCY,
    health: values.WORKER_HEALTH_PORT === undefined ? null : { host: values.WORKER_HEALTH_HOST, port: values.WORKER_HEALTH_PORT },
    models: source,
  });
}

/** The environment of this process. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
