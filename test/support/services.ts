import { mkdirSync, rmSync } from 'node:fs';
import { ensureProcesses } from '../../cli/build-processes.ts';
import { type Services, startServices } from '../../cli/services/index.ts';
import { StateBusyError } from '../../cli/state.ts';
import { scratchFolder, stateRoot } from './folders.ts';
import { dropStaleDatabases, makeTemplate } from './template.ts';

/** Where the services of a test run are; set by the global set-up for every test file. */
export interface TestServices {
  /** A role that may create roles and databases. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly temporalAddress: string;
  /** A migrated database, to be cloned. */
  readonly templateDatabase: string;
}

const names = ['DATABASE_URL', 'REDIS_URL', 'TEMPORAL_ADDRESS', 'TEST_TEMPLATE_DATABASE'] as const;

let started: { services: Services; folder: string | null } | null = null;
let temporaryFolder = '';

/** The addresses that the global set-up made known. */
export function testServices(): TestServices {
  const [databaseUrl, redisUrl, temporalAddress, templateDatabase] = names.map((name) => {
    const value = process.env[name];
    if (!value) throw new Error(`${name} is not set: this is done by test/support/global-setup.mjs`);
    return value;
  }) as [string, string, string, string]; // as many as there are names
  return { databaseUrl, redisUrl, temporalAddress, templateDatabase };
}

/** Once a run: takes the services named in the environment, else starts our own, and migrates the template database. */
export async function setUp(): Promise<void> {
  // Every process of the tests loads the same modules: they are compiled once.
  process.env['NODE_COMPILE_CACHE'] ??= `${stateRoot}compile-cache`;
  // The files of the model on board are for the tests that name them.
  process.env['EMBEDDING_MODEL'] ??= 'hash-v1';
  temporaryFolder = scratchFolder(`tmp-${process.pid}`);
  mkdirSync(temporaryFolder, { recursive: true });
  process.env['TMPDIR'] = temporaryFolder;
  const isGiven = process.env['DATABASE_URL'] && process.env['REDIS_URL'] && process.env['TEMPORAL_ADDRESS'];
  await ensureProcesses();
  if (!isGiven) started = await startOwn();

  const { services } = started ?? {};
  process.env['DATABASE_URL'] = services?.databaseUrl ?? process.env['DATABASE_URL'] ?? '';
  process.env['REDIS_URL'] = services?.redisUrl ?? process.env['REDIS_URL'] ?? '';
  process.env['TEMPORAL_ADDRESS'] = services?.temporalAddress ?? process.env['TEMPORAL_ADDRESS'] ?? '';

  await dropStaleDatabases(process.env['DATABASE_URL']);
  process.env['TEST_TEMPLATE_DATABASE'] = await makeTemplate(process.env['DATABASE_URL']);
}

export async function tearDown(): Promise<void> {
  // Those of the lent deployments, whose Jest workers have ended.
  await dropStaleDatabases(testServices().databaseUrl);
  await started?.services.stop();
  if (started?.folder) rmSync(started.folder, { recursive: true, force: true });
  rmSync(temporaryFolder, { recursive: true, force: true });
  started = null;
}

// A second run in the same checkout gets a folder of its own, gone with it.
async function startOwn(): Promise<{ services: Services; folder: string | null }> {
  const options = { env: process.env, log: () => undefined, isEphemeral: true, wheelsDir: `${stateRoot}wheels` };
  try {
    return { services: await startServices({ ...options, stateDir: scratchFolder('test') }), folder: null };
  } catch (error) {
    if (!(error instanceof StateBusyError)) throw error;
    const folder = scratchFolder(`test-${process.pid}`);
    return { services: await startServices({ ...options, stateDir: folder }), folder };
  }
}
