import { join, resolve } from 'node:path';

/** Folder of the checkout. */
export const root = resolve(import.meta.dirname, '..');

export type CliEnv = Readonly<Record<string, string | undefined>>;

/** The environment of this process. */
export function processEnvironment(): CliEnv {
  return process.env;
}

/** Where data, ports and secrets of this machine's deployment are kept. */
export function stateDirOf(env: CliEnv): string {
  return resolve(env['LONGHAUL_STATE_DIR'] ?? join(root, '.longhaul'));
}
