import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { keyRingVariables, type KeyRing } from '../../db/identity/key-ring.ts';
import { anchorFileOf, type TestDatabase } from '../support/database.ts';

const root = join(import.meta.dirname, '../..');

/** A command of `longhaul` as a process of its own. */
export interface Command {
  readonly child: ChildProcess;
  /** Its end: exit code (null when it was killed) and what it printed. */
  readonly ended: Promise<{ code: number | null; output: string }>;
}

/** Starts a command on a database, with the roles and keys in its environment as an operator gives them. */
export function longhaul(
  args: readonly string[],
  on: { database: TestDatabase; keys: KeyRing; env?: Readonly<Record<string, string>> },
): Command {
  return start(args, {
    DATABASE_APP_URL: on.database.appUrl,
    DATABASE_SWEEPER_URL: on.database.sweeperUrl,
    AUDIT_ANCHOR_FILE: anchorFileOf(on.database),
    ...on.env,
    ...keyRingVariables(on.keys),
  });
}

/** Runs a command that knows nothing but this environment, to its end. */
export function runLonghaul(args: readonly string[], env: Readonly<Record<string, string>>): Command['ended'] {
  return start(args, env).ended;
}

function start(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Command {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'cli/index.ts'), ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, output }));
  });
  return { child, ended };
}
