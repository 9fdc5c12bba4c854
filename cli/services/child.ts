import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, SetupError } from '../setup-error.ts';
import { openLog } from './log-file.ts';

/** What to run as a child of this process. */
export interface ChildCommand {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Receives stdout and stderr; appended to, and truncated at each start. */
  readonly logFile: string;
  /** A program with arguments that is put before the command to change its user. */
  readonly userPrefix?: readonly string[];
  /** The signal that the kernel sends to the child when this process dies, in whatever way. */
  readonly deathSignal: NodeJS.Signals;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  /** How it ended (`exit 1`, `SIGKILL`); pending while it lives. */
  readonly ended: Promise<string>;
  isAlive(): boolean;
}

/**
 * Starts the command in a separate process group, so that Ctrl-C reaches only the launcher, which then stops its children in order.
 * @throws SetupError when it can't be run at all.
 */
export function startChild(command: ChildCommand): Child {
  const [file = command.file, ...args] = [
    ...(command.userPrefix ?? []),
    ...deathPrefix(command.deathSignal),
    command.file,
    ...command.args,
  ];
  const log = openLog(command.logFile);

  try {
    const child = spawn(file, args, { cwd: command.cwd, env: command.env, stdio: ['ignore', log, log], detached: true });
    let isAlive = true;
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`));
    });
    void ended.then(() => (isAlive = false));

    if (child.pid === undefined) throw new SetupError(`${command.name}: ${file} can't be run`);
    return { name: command.name, pid: child.pid, ended, isAlive: () => isAlive };
  } finally {
    closeSync(log);
  }
}

/** Sends the signal, waits for the end, and kills what has not ended after `graceMs`. */
export async function stopChild(
  child: Child,
  { stopSignal, graceMs }: { readonly stopSignal: NodeJS.Signals; readonly graceMs: number },
): Promise<void> {
  if (!child.isAlive()) return;

  sendSignal(child.pid, stopSignal);
  const hasEnded = await Promise.race([child.ended.then(() => true), sleep(graceMs, false, { ref: false })]);
  if (hasEnded) return;

  sendSignal(child.pid, 'SIGKILL');
  await child.ended;
}

/** Runs a command that ends by itself; `code` is null when it could not be started. */
export function runToEnd(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(argv[0] ?? '', argv.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...env },
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', (error) => resolve({ code: null, output: error.message }));
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** The last lines of a log file, to say why a start failed. */
export function lastLines(logFile: string, count = 12): string {
  if (!existsSync(logFile)) return '';
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
}

/** Signals one process, which may be gone already. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  if (!Number.isInteger(pid) || pid <= 1) throw new Error(`${pid} is not one process`);
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}

/**
 * Returns the identity of the process with a pid, which differs between successive processes with the same pid. Null if there is none.
 * From /proc on Linux (start in clock ticks since boot, and the boot), else from ps.
 */
export function identityOf(pid: number): string | null {
  if (process.platform !== 'linux') {
    const { stdout, status } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
    });
    return status === 0 ? stdout.trim() : null;
  }

  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const [state, started] = [fields[0], fields[19]];
    return state === 'Z' || started === undefined ? null : `${bootId()}:${started}`;
  } catch {
    return null;
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/** `setpriv` comes after the change of user, because the kernel then clears the death signal. Without it, the next start ends leftover children. */
function deathPrefix(signal: NodeJS.Signals): readonly string[] {
  hasSetpriv ??= runs('setpriv', '--pdeathsig', 'SIGTERM', 'true');
  return hasSetpriv ? ['setpriv', '--pdeathsig', signal, '--'] : [];
}

let hasSetpriv: boolean | undefined;

/** True when the command can be run here and succeeds. */
export function runs(file: string, ...args: readonly string[]): boolean {
  return spawnSync(file, args, { stdio: 'ignore' }).status === 0;
}
