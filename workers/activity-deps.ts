import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ActivityDeps } from '../activities/deps.ts';
import { createAnchor } from '../activities/maintenance/anchor.ts';
import { createToolsChanged } from '../activities/mcp/list-changed.ts';
import { createProviders } from '../activities/model/wire/providers.ts';
import { createWebPages } from '../activities/tools/builtin/web-fetch.ts';
import { connectDatabases } from '../db/orm.ts';
import { createPoolMetrics } from '../db/postgres/pool-metrics.ts';
import { createCancelBus } from '../db/streams/cancel-bus.ts';
import { createEmitter } from '../domain/streams/emitter.ts';
import { createPublisher } from '../db/streams/publisher.ts';
import { connectRedis } from '../db/streams/redis.ts';
import { createAnchorFile } from '../ports/storage/anchor-file.ts';
import { createEgress } from '../ports/egress/egress.ts';
import { createEmbedder } from '../ports/embeddings/index.ts';
import { createMirrors } from '../ports/git/mirrors.ts';
import { createHostBucket } from '../ports/github/bucket.ts';
import { createGitHub } from '../ports/github/client.ts';
import { createSchemas } from '../ports/json/schema.ts';
import { createMailer } from '../ports/mail.ts';
import { createMcpSessions } from '../ports/mcp/sessions.ts';
import { createActivityMetrics } from '../ports/metrics/activity-metrics.ts';
import { createRunMetrics } from '../ports/metrics/run-metrics.ts';
import { createPermitMetrics } from '../ports/metrics/permit-metrics.ts';
import { limitedModels, loadModelRegistry, providersOf } from '../ports/models/models.ts';
import { createModelPermits } from '../ports/models/permits/permits.ts';
import { createSandbox } from '../ports/sandbox/sandbox.ts';
import { createStorage } from '../ports/storage/storage.ts';
import { createTemplates } from '../ports/templates/templates.ts';
import { createWorkPool } from '../ports/untrusted/pool.ts';
import type { Temporal } from '../temporal/client.ts';
import { createDispatch } from '../temporal/dispatch.ts';
import type { WorkerEnv } from './env.ts';
import type { Closers } from './shutdown.ts';

export interface ActivityDepsOptions {
  readonly env: WorkerEnv;
  readonly temporal: Temporal;
  readonly applicationName: string;
  readonly log: Logger;
  readonly closers: Closers;
  /** Receives the metrics of the dependencies. */
  readonly metrics: Registry;
}

/** Opens everything an activity may use; adds what must be closed again to `closers`. */
export async function openActivityDeps({
  env,
  temporal,
  applicationName,
  log,
  closers,
  metrics,
}: ActivityDepsOptions): Promise<ActivityDeps> {
  const models = loadModelRegistry(env.models, log);
  const db = await connectDatabases({
    appUrl: env.databaseAppUrl,
    sweeperUrl: env.databaseSweeperUrl,
    poolMax: env.databasePoolMax,
    applicationName,
    log,
  });

  closers.add('database', () => db.close());
  const redis = connectRedis(env.redisUrl, 'commands', (err) => log.debug({ err }, 'redis interrupted'));

  closers.add('redis', () => redis.disconnect());
  const cancelBus = createCancelBus({ redisUrl: env.redisUrl, prefix: env.redisPrefix, log });

  closers.add('cancel bus', () => cancelBus.close());
  const publisher = createPublisher({ redis, prefix: env.redisPrefix, log });
  const emitter = createEmitter({ db, publisher, cancelBus, log });

  closers.add('emitter', () => emitter.close());
  const work = createWorkPool({ log });

  closers.add('work pool', () => work.close());
  const providers = createProviders();

  closers.add('providers', () => providers.close());
  const limited = limitedModels(models);
  const permitMetrics = createPermitMetrics(limited);
  const permits = createModelPermits({ models: limited, redis, prefix: env.redisPrefix, log, metrics: permitMetrics });

  closers.add('permits', () => permits.close());
  const embedder = createEmbedder(models.embeddings, permits);

  closers.add('embedding models', () => embedder.close());
  const sandbox = env.hasCodeExec ? createSandbox() : null;

  closers.add('sandbox', () => sandbox?.close());
  const storage = await createStorage(env.storage);

  closers.add('storage', () => storage.close());
  const egress = createEgress();
  const mcp = createMcpSessions({ egress });
  const bucket = createHostBucket({ redis, prefix: env.redisPrefix });

  closers.add('host bucket', () => bucket.close());

  closers.add('mcp sessions', () => mcp.close());
  const providerIds = providersOf(models);
  const runMetrics = createRunMetrics({ providers: providerIds, currency: env.billingCurrency });
  const activityMetrics = createActivityMetrics(providerIds);
  const dispatch = createDispatch({ temporal, publisher, db, log, measure: runMetrics.measure });

  const own = [work.ended, ...runMetrics.all, ...activityMetrics.all, ...permitMetrics.all, ...createPoolMetrics(db)];
  for (const metric of own) metrics.registerMetric(metric);

  return {
    db,
    keys: env.keys,
    emitter,
    cancelBus,
    models,
    embedder,
    permits,
    providers,
    egress,
    mcp,
    toolsChanged: createToolsChanged({ db, log, dispatch }),
    work,
    schemas: createSchemas(work),
    templates: createTemplates(work),
    pages: createWebPages(work),
    sandbox,
    github: createGitHub({ egress, apiUrl: env.github.apiUrl, bucket }),
    mirrors: createMirrors(env.mirrors),
    storage,
    mail: env.mail && { mailer: createMailer(env.mail), publicUrl: env.publicUrl, linkUrl: env.mail.linkUrl },
    anchor: createAnchor({ db, file: createAnchorFile(env.anchorPath, env.keys.auditKeys), log }),
    log,
    metrics: activityMetrics,
    measure: runMetrics.measure,
    env: {
      allowHttp: env.allowHttp,
      billingCurrency: env.billingCurrency,
      unpricedModel: env.unpricedModel,
      databaseOwnerUrl: env.databaseOwnerUrl,
      tracesContent: env.telemetry.hasContent,
      mcpRedirectUri: env.mcpRedirectUri,
      publicUrl: env.publicUrl === '' ? null : env.publicUrl,
      channelUrls: env.channelUrls,
      github: env.github,
      attachments: env.attachments,
    },
    eraseStreams: (runIds) => publisher.eraseSurely(runIds),
    dispatch,
  };
}
