import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from './services/child.ts';
import { keepLogsBounded } from './services/log-file.ts';
import type { Services } from './services/index.ts';
import { SetupError } from './setup-error.ts';
import { createRestartable, type Restartable } from './services/restartable.ts';
import type { RosterEntry } from './services/roster.ts';

/** One of our processes: a TypeScript file run by the Node that runs this. */
export interface ProcessSpec {
  readonly name: string;
  /** Absolute path of the entry file. */
  readonly entry: string;
  readonly cwd: string;
  readonly nodeArgs?: readonly string[];
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it serves; if omitted, it counts as ready after half a second. */
  readonly isReady?: () => Promise<boolean>;
  /** How long it may drain after SIGTERM. */
  readonly graceMs: number;
  /** Stopped before the others, so that what accepts work stops before what does the work. */
  readonly stopsFirst?: boolean;
}

export interface Supervisor {
  readonly children: readonly RosterEntry[];
  /** Stops and starts a process or a service by name. */
  restart(name: string): Promise<void>;
  /** Stops everything: what stops first, the other processes, then the services. Callable more than once. */
  stop(): Promise<void>;
  /** Resolves when everything has been stopped, by `stop` or by SIGINT, SIGTERM or SIGHUP. */
  readonly stopped: Promise<void>;
}

export interface SuperviseOptions {
  readonly services: Services;
  readonly processes: readonly ProcessSpec[];
  readonly log: (line: string) => void;
}

/**
 * Starts the processes and from then on restarts every process or service that dies: after 1 s, doubling to 10 s while it
 * keeps dying, on the same ports. Output goes to `logs/<name>.log` in the state folder, about 10 MB of it and 10 MB of what came before (`.1`). The first SIGINT, SIGTERM or SIGHUP stops
 * everything in order; one that comes more than two seconds later kills what is left, and the exit status is then 128 plus the signal's number.
 * @throws SetupError if a process does not start the first time; everything has then been stopped.
 */
export async function superviseProcesses({ services, processes, log }: SuperviseOptions): Promise<Supervisor> {
  const own = processes.map((spec) => ({ ...spec, restartable: startable(spec, services) }));
  const all = [...own.map(({ restartable }) => restartable), ...services.restartables];
  const ending = createEnding({ own, all, services, log });
  const unbound = keepLogsBounded(services.state.path('logs'));
  ending.stopped.then(unbound, unbound);

  for (const restartable of all) keepAlive(restartable, { signal: ending.signal, log });
  try {
    // The services are already running, unless one has just died.
    await Promise.all(all.map((restartable) => restartable.start()));
  } catch (error) {
    const wasToldToStop = ending.signal.aborted;
    await ending.stop();
    throw wasToldToStop ? new SetupError('Stopped before everything was up.') : error;
  }

  return {
    get children() {
      return services.children;
    },
    async restart(name) {
      const restartable = all.find((candidate) => candidate.name === name);
      if (restartable === undefined) throw new Error(`${name} is not supervised`);
      await restartable.stop();
      await restartable.start();
    },
    stop: ending.stop,
    stopped: ending.stopped,
  };
}

interface EndingDeps {
  readonly own: readonly { readonly stopsFirst?: boolean; readonly restartable: Restartable }[];
  readonly all: readonly Restartable[];
  readonly services: Services;
  readonly log: (line: string) => void;
}

/** The only path by which everything ends. `signal` is aborted as soon as it begins: nothing is restarted from then on. */
function createEnding({ own, all, services, log }: EndingDeps) {
  const abort = new AbortController();
  const stopped = Promise.withResolvers<void>();
  stopped.promise.catch(() => {});
  let stopping: Promise<void> | null = null;

  const stopGroup = (isFirst: boolean) =>
    Promise.all(own.filter(({ stopsFirst = false }) => stopsFirst === isFirst).map(({ restartable }) => restartable.stop()));
  const stopAll = async () => {
    abort.abort();
    await stopGroup(true);
    await stopGroup(false);
    await services.stop();
  };
  const stop = () => {
    if (stopping === null) {
      stopping = stopAll().finally(forgetSignals);
      stopping.then(stopped.resolve, stopped.reject);
    }
    return stopping;
  };
  const forgetSignals = onSignals({
    stop: () => void stop().catch(() => {}),
    kill: () => killAll(all),
    log,
  });

  return { signal: abort.signal, stop, stopped: stopped.promise };
}

function startable(spec: ProcessSpec, services: Services): Restartable {
  const { state, roster } = services;
  let startedAt = 0;

  return createRestartable(
    {
      name: spec.name,
      command: {
        name: spec.name,
        file: process.execPath,
        args: [...(spec.nodeArgs ?? []), spec.entry, ...(spec.args ?? [])],
        env: spec.env,
        cwd: spec.cwd,
        logFile: state.path('logs', `${spec.name}.log`),
        // Without its launcher there are no services either: there is nothing to drain, and its port must be free for the next start.
        deathSignal: 'SIGKILL',
      },
      async beforeStart() {
        startedAt = Date.now();
      },
      isReady: spec.isReady ?? (async () => Date.now() - startedAt > 500),
      readyTimeoutMs: 60_000,
      stopSignal: 'SIGTERM',
      graceMs: spec.graceMs,
    },
    roster.set,
  );
}

/** A process that has served for 3 s counts as healthy again, so that a single death is always repaired after 1 s. */
function keepAlive(restartable: Restartable, { signal, log }: { signal: AbortSignal; log: (line: string) => void }): void {
  const [firstDelayMs, maxDelayMs, healthyAfterMs] = [1000, 10_000, 3000];
  let delayMs = firstDelayMs;
  let upSince = Date.now();

  const startAgain = async () => {
    while (!signal.aborted) {
      await sleep(delayMs, undefined, { signal });
      delayMs = Math.min(delayMs * 2, maxDelayMs);
      try {
        await restartable.start();
        upSince = Date.now();
        return log(`${restartable.name} is running again`);
      } catch (error) {
        if (!signal.aborted) log(`${restartable.name} did not start: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };

  restartable.onDeath((how) => {
    if (signal.aborted) return;
    if (Date.now() - upSince > healthyAfterMs) delayMs = firstDelayMs;
    log(`${restartable.name} ended (${how}); restarting it`);
    startAgain().catch(() => {});
  });
}

/** npm forwards a signal that the terminal has already sent to the whole group, so one press of Ctrl-C arrives twice. */
const onePressMs = 2_000;

/** Returns a function that removes the handlers. */
function onSignals({ stop, kill, log }: { stop: () => void; kill: () => void; log: (line: string) => void }): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  let firstAt: number | null = null;

  const listener = (name: (typeof signals)[number]) => {
    if (firstAt === null) {
      firstAt = performance.now();
      log('Stopping … (press Ctrl-C again after two seconds to kill what is still running)');
      return stop();
    }
    if (performance.now() - firstAt < onePressMs) return;
    log(`${name} again: killing what is still running`);
    process.exitCode = 128 + constants.signals[name];
    kill();
  };
  for (const name of signals) process.on(name, listener);

  return () => {
    for (const name of signals) process.off(name, listener);
  };
}

function killAll(restartables: readonly Restartable[]): void {
  for (const { child } of restartables) if (child !== null) sendSignal(child.pid, 'SIGKILL');
}
