import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino, type Logger } from 'pino';
import { buildApp, type AppOptions } from '../../api/app.ts';
import { parseApiEnv } from '../../api/env.ts';
import type { Deps } from '../../api/http/operation/deps.ts';
import { openDependencies } from '../../api/dependencies.ts';
import type { Egress } from '../../ports/egress/egress.ts';
import { randomKeyRing, type KeyRing } from '../../db/key-ring.ts';
import type { Databases } from '../../db/databases.ts';
import { oddAuditTimes } from './audit-times.ts';
import { testDatabase, type TestDatabase } from './database.ts';
import { createReplyCheck, type ReplyCheck } from './reply-check.ts';
import { testServices } from './services.ts';
import { testPublicUrl } from './tenant.ts';
import { lentWorkPool } from './work-pool.ts';

/** One API on a free port, over real PostgreSQL, Redis and Temporal: its own database and Redis prefix. */
export interface TestApi {
  readonly app: FastifyInstance;
  /** Origin of the listener. */
  readonly url: string;
  readonly deps: Deps;
  readonly db: Databases;
  readonly keys: KeyRing;
  readonly database: TestDatabase;
  readonly redisPrefix: string;
  /** Every reply is held against the served document; `close` throws when one differed. */
  readonly check: ReplyCheck;
  /** As if SIGTERM had come. */
  drain(): void;
  close(): Promise<void>;
}

export interface TestApiOptions extends AppOptions {
  /** Variables beside those of the test services. */
  readonly env?: Readonly<Record<string, string>>;
  readonly keys?: KeyRing;
  readonly log?: Logger;
  readonly now?: () => Date;
  /** Shares a database: the second process of a deployment. */
  readonly database?: TestDatabase;
  readonly redisPrefix?: string;
  readonly onQuery?: (sql: string) => void;
  /** In place of the guarded client for what strangers name. */
  readonly egress?: Egress;
  /** Opens pools by the variables of `env` instead of taking those of the database. */
  readonly hasOwnPools?: boolean;
  /** For tests that break replies on purpose. */
  readonly isUnchecked?: boolean;
}

export async function startApi(options: TestApiOptions = {}): Promise<TestApi> {
  const keys = options.keys ?? randomKeyRing();
  const database = options.database ?? (await testDatabase({ onQuery: options.onQuery }));
  const redisPrefix = options.redisPrefix ?? `test-${randomBytes(6).toString('hex')}:`;
  const check = createReplyCheck();
  let isDraining = false;

  const source = environmentOf(database, redisPrefix, options.env);
  const parts = await openDependencies({
    env: parseApiEnv(source),
    keys,
    models: source,
    ...(options.hasOwnPools ? {} : { db: database.db }),
    now: options.now,
    // A machine that is busy with other tests is no outage.
    redisTimeoutMs: 2_000,
    work: lentWorkPool(),
    egress: options.egress,
    log: options.log ?? pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }),
    isDraining: () => isDraining,
  });
  const app = await buildApp(parts.deps, {
    ...options,
    extend: (instance, deps) => {
      options.extend?.(instance, deps);
      check.watch(instance, deps);
    },
  }).catch(async (error: unknown) => {
    await parts.close();
    if (!options.database) await database.drop();
    throw error;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  return {
    app,
    url,
    deps: parts.deps,
    db: database.db,
    keys,
    database,
    redisPrefix,
    check,
    drain: () => {
      isDraining = true;
    },
    async close() {
      await app.close();
      await parts.close();
      const faults = [...check.faults, ...(options.database ? [] : await oddAuditTimes(database))];
      if (!options.redisPrefix) await rm(storageDirOf(redisPrefix), { recursive: true, force: true });
      if (!options.database) await database.drop();
      if (!options.isUnchecked && faults.length > 0)
        throw new Error(`replies differ from the document:\n${[...new Set(faults)].slice(0, 20).join('\n')}`);
    },
  };
}

/** Where a deployment of tests keeps attachments: the same for all that share a Redis prefix. */
export function storageDirOf(redisPrefix: string): string {
  return join(tmpdir(), 'longhaul-tests', redisPrefix.replaceAll(/[^\w-]/g, ''));
}

function environmentOf(database: TestDatabase, redisPrefix: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const services = testServices();
  return {
    PUBLIC_URL: testPublicUrl,
    PORT: '0',
    DATABASE_APP_URL: database.appUrl,
    DATABASE_SWEEPER_URL: database.sweeperUrl,
    REDIS_URL: services.redisUrl,
    REDIS_PREFIX: redisPrefix,
    TEMPORAL_ADDRESS: services.temporalAddress,
    TEMPORAL_NAMESPACE: process.env['TEMPORAL_NAMESPACE'] ?? 'longhaul',
    STORAGE_DIR: storageDirOf(redisPrefix),
    METRICS_TOKEN: 'metrics-token-of-the-tests',
    RATE_LIMITS: 'anonymous=100000/60',
    ...more,
  };
}
