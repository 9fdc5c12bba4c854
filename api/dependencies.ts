import { hostname } from 'node:os';
import { pino, type DestinationStream, type Logger } from 'pino';
import { createIdentity } from '../domain/identity/callers/identity.ts';
import type { KeyRing } from '../db/key-ring.ts';
import { connectDatabases, whenDatabaseAnswers } from '../db/orm.ts';
import type { Databases } from '../db/databases.ts';
import { createPublisher } from '../db/streams/publisher.ts';
import { connectRedis } from '../db/streams/redis.ts';
import { createEgress, type Egress } from '../ports/egress/egress.ts';
import { createEmbedder } from '../ports/embeddings/index.ts';
import { createSchemas } from '../ports/json/schema.ts';
import { logOutput } from '../ports/config/log-output.ts';
import { createPermitMetrics } from '../ports/metrics/permit-metrics.ts';
import { secretNames } from '../ports/config/secret-names.ts';
import { createRunMetrics } from '../ports/metrics/run-metrics.ts';
import { limitedModels, loadModelRegistry, providersOf, type ModelEnv } from '../ports/models/models.ts';
import { createModelPermits } from '../ports/models/permits/permits.ts';
import { createPasswordHasher } from '../ports/passwords/hasher.ts';
import { createPasswordStrength } from '../ports/passwords/strength.ts';
import { hasStrictIsolation } from '../ports/sandbox/sandbox.ts';
import { createStorage } from '../ports/storage/storage.ts';
import { createTemplates } from '../ports/templates/templates.ts';
import { createWorkPool, type WorkPool } from '../ports/untrusted/pool.ts';
import { connectTemporal } from '../temporal/client.ts';
import { createDispatch } from '../temporal/dispatch.ts';
import { createTemporalGateway } from '../temporal/gateway.ts';
import { keepNamespace } from '../temporal/namespace.ts';
import type { ApiEnv } from './env.ts';
import type { Deps } from './http/operation/deps.ts';
import { createLimits } from './http/operation/rate-limit.ts';
import { createHub } from './streams/hub.ts';
import { hasBuild } from './console/builds.ts';

/** The parts of one API process, and how to close them. */
export interface Dependencies {
  readonly deps: Deps;
  close(): Promise<void>;
}

export interface PartsOptions {
  readonly env: ApiEnv;
  readonly keys: KeyRing;
  readonly models: ModelEnv;
  readonly log: Logger;
  readonly isDraining: () => boolean;
  readonly now?: () => Date;
  /** How long Redis may take to count a limit; see `createLimits`. */
  readonly redisTimeoutMs?: number;
  /** Pools that the caller closes; if omitted, two are opened. */
  readonly db?: Databases;
  /** A pool that the caller closes; if omitted, one is created. */
  readonly work?: WorkPool;
  /** In place of the guarded client of the process: tests. */
  readonly egress?: Egress;
}

const statementTimeoutMs = 10_000;
/** JSON lines, on stdout unless told otherwise; names of secrets are blotted out at three depths. */
export function createLog(level: ApiEnv['logLevel'], destination: DestinationStream = logOutput()): Logger {
  const at = (name: string) => (name.includes('-') ? `["${name}"]` : `.${name}`);
  const paths = secretNames.flatMap((name) => [...(name.includes('-') ? [] : [name]), `*${at(name)}`, `*.*${at(name)}`]);
  const redact = { paths, censor: '[redacted]' };
  return pino({ level, base: { process: 'api', pid: process.pid }, redact }, destination);
}

/** Opens everything a request may use. PostgreSQL must be there; Redis and Temporal may come later. */
export async function openDependencies(options: PartsOptions): Promise<Dependencies> {
  const { env, keys, log, isDraining } = options;
  const models = loadModelRegistry(options.models, log);
  const db =
    options.db ??
    (await connectDatabases({
      appUrl: env.databaseAppUrl,
      sweeperUrl: env.databaseSweeperUrl,
      poolMax: env.databasePoolMax,
      applicationName: 'longhaul-api',
      statementTimeoutMs,
      log,
    }));
  const now = options.now ?? db.clock.now;
  const passwordHasher = createPasswordHasher();
  const identity = createIdentity({ db, keys, publicUrl: env.publicUrl, hashing: passwordHasher, log, now });
  const redis = connectRedis(env.redisUrl, 'commands', (err) => log.debug({ err }, 'redis interrupted'));
  const limits = createLimits({ redis, prefix: env.redisPrefix, quotas: env.quotas, redisTimeoutMs: options.redisTimeoutMs });
  const limitsOfStreams = {
    streamsPerPrincipal: env.streams.perPrincipal,
    streams: env.streams.perProcess,
    maxConnectsAtOnce: Math.max(1, Math.min(4, env.databasePoolMax - 1)),
  };
  const hub = createHub({ redisUrl: env.redisUrl, prefix: env.redisPrefix, db, log, limits: limitsOfStreams });
  const egress = options.egress ?? createEgress();
  const work = options.work ?? createWorkPool({ log });
  const passwordStrength = createPasswordStrength();
  const storage = await createStorage(env.storage);
  const temporal = connectTemporal({ ...env.temporal, identity: `api-${process.pid}@${hostname()}`, headerKeys: keys.headerKeys });
  const keeper = keepNamespace(temporal, log);
  const publisher = createPublisher({ redis, prefix: env.redisPrefix, log });
  const limited = limitedModels(models);
  const permitMetrics = createPermitMetrics(limited);
  const permits = createModelPermits({ models: limited, redis, prefix: env.redisPrefix, log, metrics: permitMetrics });
  const embedder = createEmbedder(models.embeddings, permits);
  const runMetrics = createRunMetrics({ providers: providersOf(models), currency: env.billingCurrency });

  const close = async () => {
    keeper.stop();
    await hub.close();
    await identity.close();
    await Promise.all([
      passwordHasher.close(),
      passwordStrength.close(),
      limits.close(),
      temporal.close(),
      egress.close(),
      embedder.close(),
    ]);
    permits.close();
    redis.disconnect();
    storage.close();
    if (!options.work) await work.close();
    if (!options.db) await db.close();
  };
  await orClose(close, () => whenDatabaseAnswers(() => identity.start()));
  return {
    close,
    deps: {
      env,
      db,
      redis,
      keys,
      identity,
      hub,
      limits,
      egress,
      models,
      embedder,
      work,
      schemas: createSchemas(work),
      templates: createTemplates(work),
      passwordStrength,
      log,
      runMetrics,
      hasConsole: () => env.consoleDir !== null && hasBuild(env.consoleDir),
      permitMetrics,
      now,
      isDraining,
      storage,
      codeExec: { isOn: env.hasCodeExec, hasStrict: async () => env.hasCodeExec && (await hasStrictIsolation()) },
      temporal: createTemporalGateway(temporal, keeper),
      dispatch: createDispatch({ temporal, publisher, db, log, measure: runMetrics.measure }),
    },
  };
}

async function orClose(close: () => Promise<void>, start: () => Promise<void>): Promise<void> {
  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
}
