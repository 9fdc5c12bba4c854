import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { parseKeyRing } from '../db/key-ring.ts';
import { environmentOrExit, parseTogether } from '../ports/config/environment.ts';
import { loadModelRegistry } from '../ports/models/models.ts';
import { startTracing, type Tracing } from '../ports/telemetry/tracing.ts';
import { buildApp } from './app.ts';
import { parseApiEnv, processEnvironment, type ApiEnv } from './env.ts';
import { createLog, openDependencies, type Dependencies } from './dependencies.ts';

/** Everything ends within this time of SIGTERM, whatever still runs. */
const exitAfterMs = 10_000;

const source = processEnvironment();
const { env, keys } = environmentOrExit(() =>
  parseTogether({
    env: () => parseApiEnv(source),
    keys: () => parseKeyRing(source),
    // Loaded again, and told, when there is a log.
    models: () => loadModelRegistry(source, { info: () => undefined }),
  }),
);
const log = createLog(env.logLevel);
const draining = new AbortController();

try {
  await serve(log, env);
} catch (err) {
  log.fatal({ err }, 'api failed to start');
  process.exit(1);
}

async function serve(log: Logger, env: ApiEnv): Promise<void> {
  const tracing = await startTracing({ settings: env.telemetry, process: 'api', version: env.build.version, log });
  const parts = await openDependencies({ env, keys, models: source, log, isDraining: () => draining.signal.aborted });
  const app = await buildApp(parts.deps);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void drain(app, { parts, tracing }, signal));

  const address = await app.listen({ host: env.host, port: env.port });
  log.info({ address, public_url: env.publicUrl }, 'api listening');
  log.info({ code_exec: parts.deps.codeExec.isOn, strict: await parts.deps.codeExec.hasStrict() }, 'isolation of code probed');
}

interface Running {
  readonly parts: Dependencies;
  readonly tracing: Tracing | null;
}

/** Readiness turns 503 at once, the listener closes when probes had time to see it, open requests end; a second signal ends at once. */
async function drain(app: FastifyInstance, { parts, tracing }: Running, signal: string): Promise<void> {
  if (draining.signal.aborted) process.exit(1);
  draining.abort();
  log.info({ signal }, 'api draining');
  setTimeout(() => {
    log.warn('requests cut off at the end of the drain');
    process.exit(0);
  }, exitAfterMs).unref();

  await Promise.all([parts.deps.hub.drain(), delay(env.drainSeconds * 1_000)]);
  await app.close();
  await parts.close();
  await tracing?.close();
  log.info('api stopped');
  process.exit(0);
}
