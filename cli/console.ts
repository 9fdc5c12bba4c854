import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from './env.ts';
import { SetupError } from './setup-error.ts';

const builder = join(import.meta.dirname, 'build-console.mjs');

/** Folder of the builds of the console. */
export function consoleDirOf(stateDir: string): string {
  return join(stateDir, 'console');
}

/** Builds the console unless that is done, and returns the folder of the build. @throws SetupError when it can't be built. */
export async function buildConsole(
  stateDir: string,
  options: { readonly isInBackground?: boolean; readonly signal?: AbortSignal } = {},
): Promise<string> {
  const nice = options.isInBackground && process.platform !== 'win32' ? ['nice', '-n', '19'] : [];
  const [file = process.execPath, ...args] = [...nice, process.execPath, builder, consoleDirOf(stateDir)];
  const child = spawn(file, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], signal: options.signal });

  return new Promise((resolve, reject) => {
    const output = { out: '', err: '' };
    child.stdout.on('data', (part: Buffer) => (output.out += part.toString()));
    child.stderr.on('data', (part: Buffer) => (output.err += part.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return resolve(output.out.trim().split('\n').at(-1) ?? '');
      reject(new SetupError(output.err.trim() || `The console could not be built (exit ${code}).`));
    });
  });
}
