import { join } from 'node:path';
import { ensureBundle } from '../workers/build-bundle.ts';
import { buildConsole, consoleDirOf } from './console.ts';
import { ensureAccess, readAccess } from './access.ts';
import type { BootstrapAccess } from './bootstrap.ts';
import { withDatabases } from './databases.ts';
import { runDemo } from './demo.ts';
import { builtProcess, ensureProcesses, sourceOfProcess, type BuiltProcess } from './build-processes.ts';
import { prepareDeployment, type Deployment } from './deployment.ts';
import { root, stateDirOf, type CliEnv } from './env.ts';
import { fillRates } from './fx.ts';
import { fillPrices } from './prices.ts';
import { superviseProcesses, type ProcessSpec } from './processes.ts';
import { checkReachable } from './check-services.ts';
import { startServices } from './services/index.ts';
import { checkSettings } from './settings.ts';
import { readStateFile, StateBusyError } from './state.ts';
import { restartOnChange } from './watch-sources.ts';

export interface UpOptions {
  readonly env: CliEnv;
  /** Streams a first run when the deployment is new. */
  readonly isDemo: boolean;
  /** Starts API and workers again whenever their sources change. */
  readonly isWatching?: boolean;
  readonly log: (line: string) => void;
}

/**
 * Runs a complete deployment on this machine until it is stopped: services, migration, first access, API and workers.
 * If one already runs from the same state folder, prints how to reach it and leaves it alone.
 */
export async function up({ env, isDemo, isWatching = false, log }: UpOptions): Promise<void> {
  const stateDir = stateDirOf(env);
  checkSettings(env);
  try {
    await checkReachable(env, ['DATABASE_URL', 'REDIS_URL', 'TEMPORAL_ADDRESS']);
    // The first time it takes seconds, in which services are mostly awaited.
    const bundled = Promise.all([ensureBundle(), isWatching || ensureProcesses()]);
    bundled.catch(() => undefined); // told where it is awaited
    const services = await startServices({ stateDir, env, log });
    const deployment = await prepareDeployment(services, env, { startsProcesses: true, log }).catch(async (error: unknown) => {
      await services.stop();
      throw error;
    });
    await bundled;
    const { access, modelId } = await ensureAccess(services.state, deployment);
    await fillCatalogs(deployment, log);
    const compileCache = env['NODE_COMPILE_CACHE'] || services.state.path('compile-cache');
    const processes = processesOf(deployment, { compileCache, entryOf: isWatching ? sourceOfProcess : builtProcess });
    const supervisor = await superviseProcesses({ services, processes, log });
    const unwatch = isWatching ? restartOnChange(supervisor, { root, names: processes.map(({ name }) => name), log }) : null;
    if (isDemo && services.state.read('demo.json') === null) {
      await runDemo(access, { question: env['LONGHAUL_DEMO_QUESTION'], log }).then(
        (run) => services.state.write('demo.json', run),
        (error: unknown) => log(`The first run could not be shown: ${error instanceof Error ? error.message : String(error)}`),
      );
    }
    const consoleDir = env['CONSOLE'] === 'off' ? null : deployment.variables['CONSOLE_DIR'];
    describe(access, { modelId, stateDir, mailDir: deployment.mailDir, hasConsole: consoleDir !== null, log });
    // Only now: neither the API nor the first run waits for it.
    const building = new AbortController();
    if (consoleDir === consoleDirOf(stateDir)) void buildInBackground(stateDir, building.signal, log);
    await supervisor.stopped.finally(() => {
      building.abort();
      unwatch?.();
    });
  } catch (error) {
    if (!(error instanceof StateBusyError)) throw error;
    describeRunning(error, stateDir, log);
  }
}

/** A deployment works without its console. */
async function buildInBackground(stateDir: string, signal: AbortSignal, log: (line: string) => void): Promise<void> {
  await buildConsole(stateDir, { isInBackground: true, signal }).catch((error: unknown) => {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    if (!signal.aborted)
      log(`The console is not there, since it could not be built: ${reason} \`npx longhaul console build\` tries again.`);
  });
}

/** Stores the shipped prices and exchange rates if there are none yet. A deployment works without them, but its calls have no cost. */
async function fillCatalogs({ variables }: Deployment, log: (line: string) => void): Promise<void> {
  await withDatabases(variables, async (attached) => {
    await fillPrices(attached, log);
    await fillRates(attached);
  }).catch((error: unknown) => log(`Prices could not be imported: ${error instanceof Error ? error.message : String(error)}`));
}

interface ProcessesOptions {
  /** The folder for Node's compile cache, which saves a third of the work of a start. */
  readonly compileCache: string;
  /** Absolute path of what Node runs. */
  readonly entryOf: (name: BuiltProcess) => string;
}

function processesOf({ port, variables, healthPorts }: Deployment, { compileCache, entryOf }: ProcessesOptions): ProcessSpec[] {
  const common = { ...variables, NODE_COMPILE_CACHE: compileCache };
  const nodeArgs = ['--disable-warning=ExperimentalWarning', '--enable-source-maps'];
  const worker = (name: 'worker-runs' | 'worker-bulk', graceMs: number): ProcessSpec => ({
    name,
    entry: entryOf(name),
    cwd: root,
    nodeArgs,
    env: { ...common, WORKER_HEALTH_PORT: String(healthPorts[name]) },
    isReady: () => answers(`http://127.0.0.1:${healthPorts[name]}/health/ready`),
    graceMs,
  });
  return [
    {
      name: 'api',
      entry: entryOf('api'),
      cwd: root,
      nodeArgs,
      env: common,
      isReady: () => answers(`http://127.0.0.1:${port}/health/ready`),
      graceMs: 12_000,
      stopsFirst: true,
    },
    worker('worker-runs', 50_000),
    worker('worker-bulk', 140_000),
  ];
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.status === 200;
}

interface DescribeOptions {
  readonly modelId: string;
  readonly stateDir: string;
  readonly mailDir: string | null;
  readonly hasConsole: boolean;
  readonly log: (line: string) => void;
}

function describe(access: BootstrapAccess, { modelId, stateDir, mailDir, hasConsole, log }: DescribeOptions): void {
  const { base_url: url, service_key: key, agent_id: agent } = access;
  log(`
Longhaul is up.

  ${hasConsole ? `Console      ${url}/console\n  ` : ''}API          ${url}
  Reference    ${url}/redoc
  Owner        ${access.email}  ${access.password}
  Operator     ${access.operator_email}  ${access.operator_password}
  Service key  ${key}
  Model        ${modelId}${modelId === 'builtin/extractive' ? '  (no language model: answers only quote what its tools read; set OPENAI_API_KEY, ANTHROPIC_API_KEY or LONGHAUL_MODEL_BASE_URL for one)' : ''}
  Mails        ${mailDir === null ? 'by SMTP_URL' : `files in ${mailDir}  (set SMTP_URL to send them)`}
  All of it    ${join(stateDir, 'access.json')}

Try it:

  curl -s ${url}/runs -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"agent_id":"${agent}","mode":"wait","input":{"text":"Read ${url}/llms.txt and tell me which operation cancels a run."}}'

  curl -s '${url}/runs?limit=1' -H 'Authorization: Bearer ${key}'

  curl -sN "${url}/runs/$(curl -s '${url}/runs?limit=1' -H 'Authorization: Bearer ${key}' | grep -o '"id":"[^"]*"' | head -1 | cut -d'"' -f4)/stream" -H 'Authorization: Bearer ${key}'

Ctrl-C stops everything that this started.`);
}

function describeRunning(busy: StateBusyError, stateDir: string, log: (line: string) => void): void {
  const access = readAccess(readStateFile(stateDir, 'access.json'));
  log(`Longhaul already runs from ${stateDir}${busy.pid === null ? '' : ` (process ${busy.pid})`}.`);
  if (access !== null) log(`API ${access.base_url}, credentials in ${join(stateDir, 'access.json')}`);
}
