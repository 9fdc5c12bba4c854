import type { State } from '../state.ts';
import type { Child } from './child.ts';
import type { Binaries } from './install.ts';
import type { Restartable } from './restartable.ts';

/** The environment, or the relevant part of it: URLs, ports, and what pip needs (PATH, proxies, certificates). */
export type ServiceEnv = Readonly<Record<string, string | undefined>>;

export type ServiceName = 'postgres' | 'redis' | 'temporal';

/** What each service needs to be started on this machine. */
export interface ServiceContext {
  readonly state: State;
  readonly env: ServiceEnv;
  readonly binaries: Binaries;
  /** For tests: nothing is flushed to the disk, so a crash of the machine (not of a process) can lose data. */
  readonly isEphemeral: boolean;
  readonly onChange: (name: string, child: Child | null) => void;
}

/** A local service and its address. */
export interface LocalService<Address> {
  readonly address: Address;
  readonly restartable: Restartable;
}

/**
 * Third-party programs get none of our variables, because PGDATA, TEMPORAL_NAMESPACE and the like change their behaviour. Temporal needs the name of its
 * user, which an id without an account has only here.
 */
export function plainEnv(env: ServiceEnv): Record<string, string> {
  return {
    PATH: env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: env['HOME'] ?? '/',
    USER: env['USER'] ?? 'longhaul',
    TMPDIR: env['TMPDIR'] ?? '/tmp',
    LC_ALL: process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8',
    TZ: 'UTC',
  };
}
