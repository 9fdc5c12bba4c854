import type { Static } from 'typebox';
import { markAt, outboxFacts, postgresFacts, runFacts } from '../../db/http/system-status.ts';
import { metricsPage, metricsTypes } from '../../ports/metrics/exposition.ts';
import { transact } from '../../db/transaction.ts';
import { iso } from '../../db/sql.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { get, raw, type Ctx } from '../http/operation/operation.ts';
import { plainText } from '../http/input/schema.ts';
import { SystemStatusView } from './status.schema.ts';
import { toVersionView } from './version.schema.ts';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Deps } from '../http/operation/deps.ts';

type StatusView = Static<typeof SystemStatusView>;
type Problems = { part: string; message: string }[];

const partTimeoutMs = 2_000;

export const statusOperations = {
  getMetrics: raw(
    '/metrics',
    {
      access: 'operator',
      ofPlatform: true,
      transaction: 'none',
      produces: metricsTypes.text,
      alsoProduces: { [metricsTypes.openMetrics]: plainText('The same as OpenMetrics') },
      ownCredential: isScrapeToken,
      summary: 'Scrape the metrics',
      description:
        'Metrics of this process, in the Prometheus text format 0.0.4 or, where `Accept` prefers it, as OpenMetrics 1.0; for operators, or with the scrape token of the deployment.',
    },
    async (ctx, _input, http) => {
      const { contentType, body } = await metricsPage(ctx.deps.metrics.registry, http.request.headers.accept);
      http.reply.header('content-type', contentType).header('vary', 'Accept').send(body);
    },
  ),

  getSystemStatus: get(
    '/system/status',
    {
      access: 'operator',
      ofPlatform: true,
      transaction: 'none',
      view: SystemStatusView,
      summary: 'Read the state of the deployment',
      description: 'Services, queues, workers, outbox and runs, read in parallel within two seconds each; always 200.',
    },
    readStatus,
  ),
};

async function readStatus(ctx: Ctx): Promise<StatusView> {
  const { deps } = ctx;
  const problems: Problems = [];
  const attempt = <T>(part: string, read: () => Promise<T>) => orNull(problems, part, read);
  const [postgres, redis, temporal, outbox, runs, schedules, lastBackup, queues, workers] = await Promise.all([
    attempt('postgres', () => readPostgres(ctx)),
    attempt('redis', () => readRedis(ctx)),
    attempt('temporal', async () => ({ latency_ms: await latencyOf(() => deps.temporal.check(partTimeoutMs)) })),
    attempt('outbox', () => readOutbox(ctx)),
    attempt('runs', () => inTransaction(ctx, (tx) => runFacts(tx.em))),
    attempt('schedules', () => readSchedules(ctx)),
    attempt('last_backup', () => inTransaction(ctx, (tx) => markAt(tx.em, 'last_backup'))),
    attempt('queues', () => deps.temporal.queues(partTimeoutMs)),
    attempt('workers', () => deps.temporal.workers(partTimeoutMs)),
  ]);

  return {
    generated_at: iso(deps.now()),
    version: toVersionView(deps.env.build),
    draining: deps.isDraining(),
    postgres,
    redis,
    temporal,
    outbox,
    runs,
    schedules,
    last_backup: lastBackup === null ? null : { at: iso(lastBackup) },
    queues: (queues ?? []).map((queue) => ({
      name: queue.name,
      backlog: queue.backlog,
      oldest_age_s: queue.oldestAgeS,
      pollers: queue.pollers,
    })),
    workers: (workers ?? []).map((worker) => ({
      identity: worker.identity,
      build_id: worker.buildId,
      queues: [...worker.queues],
      last_seen_at: iso(worker.lastSeenAt),
    })),
    problems,
  };
}

async function readPostgres(ctx: Ctx): Promise<NonNullable<StatusView['postgres']>> {
  const startedAt = performance.now();
  const facts = await inTransaction(ctx, (tx) => postgresFacts(tx.em));
  return {
    version: facts.version,
    size_bytes: facts.sizeBytes,
    connections: facts.connections,
    latency_ms: Math.round(performance.now() - startedAt),
  };
}

async function readRedis({ deps }: Ctx): Promise<NonNullable<StatusView['redis']>> {
  const startedAt = performance.now();
  const info = await deps.redis.info();
  const fact = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? '';
  return {
    version: fact('redis_version'),
    used_memory_bytes: Number(fact('used_memory')) || 0,
    connected_clients: Number(fact('connected_clients')) || 0,
    latency_ms: Math.round(performance.now() - startedAt),
  };
}

async function readOutbox(ctx: Ctx): Promise<NonNullable<StatusView['outbox']>> {
  const facts = await inTransaction(ctx, (tx) => outboxFacts(tx.em));
  return { due: facts.due, oldest_due_age_s: facts.oldestDueAgeS, failing: facts.failing };
}

async function readSchedules({ deps }: Ctx): Promise<NonNullable<StatusView['schedules']>> {
  const schedules = await deps.temporal.schedules(partTimeoutMs);
  const next = schedules.flatMap((schedule) => (schedule.nextAt ? [schedule.nextAt.getTime()] : []));
  return {
    total: schedules.length,
    paused: schedules.filter((schedule) => schedule.isPaused).length,
    missed: schedules.reduce((sum, schedule) => sum + schedule.missed, 0),
    next_at: next.length > 0 ? iso(new Date(Math.min(...next))) : null,
  };
}

/** Each part has a transaction of its own: one that hangs or fails takes no other along. */
async function inTransaction<T>({ deps, tenant, actor, correlationId }: Ctx, read: (tx: TenantTransaction) => Promise<T>): Promise<T> {
  return (await transact(deps.db, { tenant, actor, correlationId }, read)).value;
}

async function latencyOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return Math.round(performance.now() - startedAt);
}

async function orNull<T>(problems: Problems, part: string, read: () => Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer within two seconds')), partTimeoutMs);
  });
  try {
    return await Promise.race([read(), timeout]);
  } catch (error) {
    const isTimeout = error instanceof Error && error.message.startsWith('no answer');
    problems.push({ part, message: isTimeout ? 'did not answer within two seconds' : 'could not be read' });
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a request bears METRICS_TOKEN; compared by hashes, so in constant time whatever its length. */
function isScrapeToken({ env }: Pick<Deps, 'env'>, request: FastifyRequest): boolean {
  const expected = env.metricsToken;
  const [, given] = /^Bearer ([^\s]+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (expected === null || given === undefined) return false;
  return timingSafeEqual(sha256(given), sha256(expected));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
