import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Packages of PyPI: those of a requirements file beside this one, in a folder of their own under the state folder. */
interface Packages {
  readonly requirements: string;
  readonly folder: string;
}

/** Installs packages once a clone, and gives their folder. */
export function pythonPackages({ requirements, folder }: Packages): string {
  return installed(join(import.meta.dirname, requirements), join(root, '.longhaul', folder));
}

/** Runs a Python program with these packages, and gives what it prints. */
export function runPython(
  program: string,
  { args = [], input, ...packages }: Packages & { readonly args?: readonly string[]; readonly input: string | Buffer },
): string {
  const env = { ...process.env, PYTHONPATH: pythonPackages(packages) };
  const { status, stdout, stderr } = spawnSync('python3', ['-c', program, ...args], { input, env, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`the Python program failed: ${stderr}`);
  return stdout;
}

/** Once a clone; the folder appears as a whole. */
function installed(requirements: string, packages: string): string {
  if (existsSync(packages)) return packages;
  const temporary = `${packages}.${process.pid}.tmp`;
  mkdirSync(join(root, '.longhaul'), { recursive: true, mode: 0o700 });
  const flags = ['--no-deps', '--require-hashes', '--only-binary', ':all:', '--quiet', '--disable-pip-version-check'];
  const pip = ['-m', 'pip', 'install', ...flags, '--target', temporary, '--requirement', requirements];
  const { status, stderr } = spawnSync('python3', pip, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`pip could not install ${requirements}: ${stderr}`);
  try {
    renameSync(temporary, packages);
  } catch (error) {
    // Another test file was faster; its folder is as good.
    rmSync(temporary, { recursive: true });
    if (!existsSync(packages)) throw error;
  }
  return packages;
}
