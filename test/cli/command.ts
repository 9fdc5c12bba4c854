import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { runCommand } from '../../cli/commands.ts';
import { keyRingVariables, type KeyRing } from '../../db/key-ring.ts';
import { anchorFileOf, type TestDatabase } from '../support/database.ts';
import { started } from '../support/started.ts';

const root = join(import.meta.dirname, '../..');

/** How a command ended: exit code (null when it was killed) and what it printed. */
interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** A command of `longhaul` as a process of its own. */
interface Command {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

interface Place {
  readonly database: TestDatabase;
  readonly keys: KeyRing;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a command on a database to its end, in this process: starting one takes longer than most commands. */
export function longhaul(args: readonly string[], on: Place): Promise<Ended> {
  return runInPlace(args, environmentOf(on));
}

/** Runs a command that knows nothing but this environment to its end, in this process. */
export async function runInPlace(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Promise<Ended> {
  let output = '';
  const print = (text: string) => void (output += `${text}\n`);
  const isGood = await runCommand(args, { env, log: print, logFault: print });
  return { code: isGood ? 0 : 1, output };
}

/** Starts a command on a database. */
export function longhaulProcess(args: readonly string[], on: Place): Command {
  return start(args, environmentOf(on));
}

/** Roles and keys, as an operator gives them. */
function environmentOf({ database, keys, env }: Place): Readonly<Record<string, string | undefined>> {
  return {
    PATH: process.env['PATH'],
    DATABASE_APP_URL: database.appUrl,
    DATABASE_SWEEPER_URL: database.sweeperUrl,
    AUDIT_ANCHOR_FILE: anchorFileOf(database),
    ...env,
    ...keyRingVariables(keys),
  };
}

/** Runs a command that knows nothing but this environment to its end, as a process of its own. */
export function runLonghaul(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return start(args, env).ended;
}

function start(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Command {
  started.processes += 1;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'cli/index.ts'), ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, output }));
  });
  return { child, ended };
}
