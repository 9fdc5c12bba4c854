import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Services, startServices } from '../../cli/services/index.ts';
import type { ServiceName } from '../../cli/services/service.ts';
import { scratchFolder, stateRoot } from './folders.ts';
import { makeTemplate } from './template.ts';

/** Services of one test file, to be killed: nobody else's tests notice. */
export interface OwnServices {
  readonly services: Services;
  /** As the power cut does it: SIGKILL, and it stays away until `up`. */
  kill(name: ServiceName): Promise<void>;
  /** Stops one in order; it stays away until `up`. */
  halt(name: ServiceName): Promise<void>;
  pid(name: ServiceName): number;
  /** Brings one back that was killed, with its port and its data. */
  up(name: ServiceName): Promise<void>;
  /** Lets one hang: it takes connections, or not even these, and answers nothing until `thaw`. */
  freeze(name: ServiceName): void;
  thaw(name: ServiceName): void;
  /** Stops one in order and starts it again. */
  restart(name: ServiceName): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL, Redis and Temporal in a folder of their own and names them in this file's environment (Jest gives each test file a
 * copy), so that `startStack` and `testDatabase` use them.
 */
export async function ownServices(label: string): Promise<OwnServices> {
  const stateDir = scratchFolder(`chaos-${label}-${process.pid}`);
  const env = { ...process.env, DATABASE_URL: '', REDIS_URL: '', TEMPORAL_ADDRESS: '', TEMPORAL_HTTP_ADDRESS: '', TEMPORAL_NAMESPACE: '' };
  // Not ephemeral: what was committed must be there after a SIGKILL.
  const services = await startServices({ stateDir, env, log: () => undefined, wheelsDir: `${stateRoot}wheels` });
  process.env['DATABASE_URL'] = services.databaseUrl;
  process.env['REDIS_URL'] = services.redisUrl;
  process.env['TEMPORAL_ADDRESS'] = services.temporalAddress;
  process.env['TEST_TEMPLATE_DATABASE'] = await makeTemplate(services.databaseUrl);

  return {
    services,
    kill: (name) => kill(services, name),
    halt: async (name) => services.restartables.find((candidate) => candidate.name === name)?.stop(),
    pid: (name) => childOf(services, name).pid,
    up: (name) => orAgain(() => services.restart(name)),
    freeze: (name) => signal(services, name, 'SIGSTOP'),
    thaw: (name) => signal(services, name, 'SIGCONT'),
    restart: (name) => services.restart(name),
    async stop() {
      await services.stop();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

async function kill(services: Services, name: ServiceName): Promise<void> {
  const child = childOf(services, name);
  process.kill(child.pid, 'SIGKILL');
  await child.ended;
}

function signal(services: Services, name: ServiceName, sent: 'SIGSTOP' | 'SIGCONT'): void {
  process.kill(childOf(services, name).pid, sent);
}

function childOf(services: Services, name: ServiceName) {
  const { child } = services.restartables.find((candidate) => candidate.name === name) ?? { child: null };
  if (!child) throw new Error(`${name} does not run`);
  return child;
}

/** What a killed server leaves behind (PostgreSQL's backends and its memory) takes a moment to go. */
async function orAgain(start: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries === 10) throw error;
      await delay(500);
    }
  }
}
