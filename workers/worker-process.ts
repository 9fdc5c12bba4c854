import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { pino, type Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createActivities, systemActivities } from '../activities/index.ts';
import { guardActivities } from '../activities/support/interceptor.ts';
import { whenDatabaseAnswers } from '../db/orm.ts';
import { refuseStrangeDatabase } from '../db/tenancy/keys/deployment-fit.ts';
import { environmentOrExit } from '../ports/config/environment.ts';
import { logOutput } from '../ports/config/log-output.ts';
import { packageVersion } from '../ports/config/package-version.ts';
import { hasStrictIsolation } from '../ports/sandbox/sandbox.ts';
import { startTracing } from '../ports/telemetry/tracing.ts';
import { connectTemporal, isTemporalUnavailable, type Temporal } from '../temporal/client.ts';
import type { TemporalAddress } from '../temporal/connection.ts';
import { verifyTenantHeader } from '../temporal/header.ts';
import { keepNamespace, type NamespaceKeeper } from '../temporal/namespace.ts';
import { startRelay } from '../temporal/relay.ts';
import { updateSchedules } from '../temporal/schedules.ts';
import type { TaskQueue } from '../workflows/contracts/queues.ts';
import { openActivityDeps } from './activity-deps.ts';
import { ensureBundle } from './build-bundle.ts';
import { createDeploymentMetrics } from './deployment-metrics.ts';
import { parseWorkerEnv, processEnvironment } from './env.ts';
import { serveHealth } from './health.ts';
import { runToEnd } from './run-to-end.ts';
import { runtimeLogger } from './runtime-log.ts';
import { Closers, shutdownSignal } from './shutdown.ts';
import { tuning } from './tuning.ts';
import { measureAnchor, measureWorker, watchWorker, type WorkerWatch } from './watch.ts';

/**
 * A worker process of one queue, from environment to exit: it polls, executes, relays the outbox, and on SIGTERM completes what it can within the queue's
 * grace. It waits for a Temporal that is not there yet; a bad environment ends it, and so does a database that stays unavailable, has another version or was
 * set up with other keys.
 */
export async function runWorkerProcess(queue: TaskQueue): Promise<void> {
  const env = environmentOrExit(() => parseWorkerEnv(processEnvironment()));
  const log = pino({ level: env.logLevel, base: { process: `worker-${queue}`, pid: process.pid } }, logOutput());
  const signal = shutdownSignal(log);
  const closers = new Closers();

  try {
    await runWorker({ queue, env, log, signal, closers });
    log.info('worker stopped');
  } catch (err) {
    log.fatal({ err }, 'worker failed');
    process.exitCode = 1;
  } finally {
    await closers.close(log);
  }
  // Nothing may keep a drained worker alive: its successor is already at work.
  process.exit();
}

interface WorkerProcess {
  readonly queue: TaskQueue;
  readonly env: ReturnType<typeof parseWorkerEnv>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly closers: Closers;
}

async function runWorker({ queue, env, log, signal, closers }: WorkerProcess): Promise<void> {
  const identity = `${queue}-${process.pid}@${hostname()}`;
  const metrics = new Registry();
  const temporal = connectTemporal({ ...env.temporal, identity, headerKeys: env.keys.headerKeys });

  collectDefaultMetrics({ register: metrics });
  const tracing = await startTracing({ settings: env.telemetry, process: `worker-${queue}`, version: packageVersion(), log });
  if (tracing) closers.add('traces', () => tracing.close());
  closers.add('temporal', () => temporal.close());
  const deps = await openActivityDeps({ env, temporal, applicationName: `longhaul-worker-${queue}`, log, closers, metrics });
  await whenDatabaseAnswers(() => refuseStrangeDatabase(deps.db, env.keys));
  measureAnchor(deps.anchor, metrics);
  if (queue === 'bulk') for (const metric of createDeploymentMetrics(deps.db)) metrics.registerMetric(metric);
  const watch = watchWorker({ temporal, queue, identity, log, metrics });
  const keeper = keepNamespace(temporal, log);

  closers.add('watch', () => watch.stop());
  closers.add('namespace', () => keeper.stop());
  installRuntime(log, watch);
  if (env.hasCodeExec) void hasStrictIsolation().then((strict) => log.info({ strict }, 'isolation of code probed'));
  let worker: Worker | null = null;
  if (env.health) {
    const isReady = async () => worker?.getState() === 'RUNNING' && watch.isReady() && (await isNamespaceWhole(temporal, keeper));
    closers.add('health', await serveHealth({ ...env.health, isReady, isStarted: watch.isStarted, metrics }));
  }
  const relay = startRelay({ temporal, db: deps.db, log });

  closers.add('relay', () => relay.stop());
  const connection = await untilConnected(env.temporal, log, signal);

  if (!connection) return;
  closers.add('worker connection', () => connection.close());
  // A worker that finds no namespace ends at once.
  await keeper.untilThere(signal);
  if (signal.aborted) return;
  void bringSchedules(temporal, log, signal);
  worker = await Worker.create({
    ...tuning[queue],
    connection,
    namespace: env.temporal.namespace,
    taskQueue: queue,
    identity,
    workflowBundle: { codePath: await ensureBundle() },
    activities: createActivities(deps, temporal),
    interceptors: {
      activity: [guardActivities({ verify: (header) => verifyTenantHeader(env.keys.headerKeys, header), systemActivities, log })],
    },
  });

  measureWorker(worker, metrics);
  if (signal.aborted) return;
  await runToEnd(worker, { signal });
}

/** Updates the schedules of an older release, and retries until Temporal has accepted them. Where this account may not, an operator does it. */
async function bringSchedules(temporal: Temporal, log: Logger, signal: AbortSignal): Promise<void> {
  for (let isDone = false; !isDone && !signal.aborted;) {
    try {
      await temporal.connection.withDeadline(Date.now() + 10_000, () => updateSchedules(temporal));
      isDone = true;
    } catch (err) {
      isDone = !isTemporalUnavailable(err);
      log[isDone ? 'error' : 'warn']({ err }, 'schedules not updated');
      await delay(2000, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** How long a probe waits for Temporal. */
const checkTimeoutMs = 1_000;

function isNamespaceWhole({ connection }: Temporal, keeper: NamespaceKeeper): Promise<boolean> {
  return connection
    .withDeadline(Date.now() + checkTimeoutMs, () => keeper.check())
    .then(
      () => true,
      () => false,
    );
}

function installRuntime(log: Logger, watch: WorkerWatch): void {
  Runtime.install({
    logger: runtimeLogger(log, () => watch.recordTaskFailure()),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'WARN' }, forward: {} } },
    // We handle signals ourselves: relay, emitter and pools close after the worker, not beside it.
    shutdownSignals: [],
  });
}

/** Opens the worker's own connection, and retries until Temporal is available; returns null when the process is asked to stop before. */
async function untilConnected(
  { address, isTls, apiKey }: TemporalAddress,
  log: Logger,
  signal: AbortSignal,
): Promise<NativeConnection | null> {
  while (!signal.aborted) {
    try {
      return await NativeConnection.connect({ address, ...(apiKey ? { apiKey } : {}), ...(isTls || apiKey ? { tls: true } : {}) });
    } catch (err) {
      log.warn({ err, address }, 'temporal not reached');
      await delay(1000, undefined, { signal }).catch(() => undefined);
    }
  }
  return null;
}
