import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SetupError } from '../setup-error.ts';

const program = join(import.meta.dirname, 'log-writer.ts');
/** A socket's path is limited to 104 bytes. */
const maxFolderLength = 70;
const lastWordsMs = 2_000;

const listeners: (() => void)[] = [];
let writer: Promise<string> | null = null;

/** Called when the process that writes the logs has ended: whoever logs now is heard no more until it is started again. */
export function onLogsLost(listener: () => void): void {
  listeners.push(listener);
}

/**
 * Opens a connection to the process that writes the logs, for one output of a child: on a shared one, lines of two outputs would run into each other.
 * The child's copy outlives this process; this one is for `closeLog` at the child's end. The first call starts the writer, all later ones share it.
 * @throws SetupError when there is no place for its socket; the file system's error when the log file can't be made.
 */
export async function openLog(logFile: string): Promise<Socket> {
  // The writer itself has nobody to tell.
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  closeSync(openSync(logFile, 'a', 0o600));
  writer ??= startWriter().catch((error: unknown) => {
    writer = null;
    throw error;
  });
  const log = await connected(await writer);
  await sent(log, logFile);
  return log;
}

/** Resolves when all that was sent is in the file, or after two seconds. Ends also the copies of whoever still has one. */
export async function closeLog(log: Socket): Promise<void> {
  const late = new AbortController();
  // Node stops reading a socket that a child has taken.
  log.resume().ref().end();
  await Promise.race([once(log, 'close'), sleep(lastWordsMs, undefined, { signal: late.signal })]);
  late.abort();
  log.destroy();
}

/** Gives the path of its socket. */
async function startWriter(): Promise<string> {
  const folder = makeFolder(tmpdir().length > maxFolderLength ? '/tmp' : tmpdir());
  const path = join(folder, 'socket');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, path], {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const isReady = await Promise.race([once(child.stdout, 'data').then(() => true), once(child, 'exit').then(() => false)]);
  if (!isReady) throw new SetupError('The process that writes the logs could not be started.');

  child.stdout.destroy();
  child.unref();
  // As long as this one is open the writer stays.
  await sent(await connected(path), null);
  child.once('exit', () => {
    writer = null;
    for (const listener of listeners) listener();
  });
  return path;
}

function makeFolder(parent: string): string {
  try {
    return mkdtempSync(join(parent, 'longhaul-logs-'));
  } catch (error) {
    throw new SetupError(
      `${parent} can't be written (${error instanceof Error ? error.message : String(error)}): set TMPDIR to a folder that can.`,
    );
  }
}

async function connected(path: string): Promise<Socket> {
  const socket = connect(path);
  await once(socket, 'connect');
  socket.on('error', () => socket.destroy());
  return socket.resume().unref();
}

function sent(socket: Socket, file: string | null): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(`${JSON.stringify(file)}\n`, (error) => (error ? reject(error) : resolve()));
  });
}
