import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd } from './child.ts';
import type { ServiceEnv } from './service.ts';

/** The packages of one requirements file with hashes, in a separate folder. */
export interface Installation {
  readonly requirementsFile: string;
  /** The folder under which each installation has one, named by its requirements and the platform. */
  readonly wheelsDir: string;
  readonly env: ServiceEnv;
  /** Called if something must be downloaded. */
  readonly onInstall: () => void;
  /** Throws when the folder lacks something. */
  readonly check: (folder: string) => void;
  /** Makes the folder smaller by removing what is not used. */
  readonly slim?: (folder: string) => void;
}

/** There is no Python with pip, or pip fails. */
export class PipError extends Error {
  override readonly name = 'PipError';
}

/**
 * Installs once into `<wheelsDir>/<hash>` and returns that folder: it appears atomically, by a rename, and never changes afterwards, so several processes
 * may call this at the same time. Throws a PipError.
 */
export async function installOnce({ requirementsFile, wheelsDir, env, onInstall, check, slim }: Installation): Promise<string> {
  const folder = folderOf({ requirementsFile, wheelsDir });
  if (existsSync(folder)) return folder;

  const pip = await findPip(env);
  onInstall();
  mkdirSync(wheelsDir, { recursive: true, mode: 0o700 });
  const temporary = `${folder}.${process.pid}.tmp`;

  try {
    await installInto(temporary, { pip, env, requirementsFile });
    check(temporary);
    slim?.(temporary);
    renameInto(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }

  return folder;
}

/** Returns the folder of an existing installation; null if there is none. */
export function installedFolder(installation: Pick<Installation, 'requirementsFile' | 'wheelsDir'>): string | null {
  const folder = folderOf(installation);
  return existsSync(folder) ? folder : null;
}

/** The name depends on the requirements and the machine, because the folder may be shared or copied. */
function folderOf({ requirementsFile, wheelsDir }: Pick<Installation, 'requirementsFile' | 'wheelsDir'>): string {
  const requirements = readFileSync(requirementsFile, 'utf8');
  const stamp = createHash('sha256').update(`${requirements}\n${process.platform}-${process.arch}`).digest('hex').slice(0, 16);
  return join(wheelsDir, stamp);
}

/** The flags, not the environment or a configuration file of the user, decide what is installed and where. */
async function installInto(
  target: string,
  { pip, env, requirementsFile }: { readonly pip: readonly string[]; readonly env: ServiceEnv; readonly requirementsFile: string },
): Promise<void> {
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

  if (code !== 0) throw new PipError(output.trim().split('\n').slice(-8).join('\n'));
}

/** Another process may have been faster; its folder is just as good. */
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
  throw new PipError('No Python 3 with pip was found (Debian, Ubuntu: apt install python3-pip).');
}

const pipSettings = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_NO_INPUT: '1',
  PIP_ROOT_USER_ACTION: 'ignore',
};
