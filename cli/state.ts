import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { hasCode, SetupError } from './setup-error.ts';

/** The state folder of one deployment on one machine (`.longhaul/`): data, saved ports, secrets. One process holds it at a time. */
export interface State {
  readonly dir: string;
  /** Returns the absolute path of something in the folder. */
  path(...parts: readonly string[]): string;
  /** The parsed JSON file, or null when there is none. */
  read(file: string): unknown;
  /** Replaces the JSON file atomically (mode 0600): a reader sees either the old or the new text, also after a crash. */
  write(file: string, value: unknown): void;
  /** A random secret (base64url of `bytes` random bytes), created at the first call for this name and constant from then on. */
  secret(name: string, bytes?: number): string;
  /** The same for a secret of another form, created by `make`. */
  keep(name: string, make: () => string): string;
  /** Lets another process open the folder. */
  release(): void;
}

/** Another live process holds the state folder. `pid` is null if it has not been written yet. */
export class StateBusyError extends SetupError {
  readonly stateDir: string;
  readonly pid: number | null;

  constructor(stateDir: string, pid: number | null) {
    super(
      `${stateDir} is in use${pid === null ? '' : ` by process ${pid}`}: Longhaul already runs from it. Stop it first, or choose another state folder.`,
    );
    this.name = 'StateBusyError';
    this.stateDir = stateDir;
    this.pid = pid;
  }
}

/**
 * Creates the folder if it is missing (0700) and takes its lock.
 * @throws StateBusyError when another process holds it, SetupError when it belongs to another user.
 */
export function openState(stateDir: string): State {
  const dir = resolve(stateDir);
  makeFolder(dir);
  refuseForeignFolder(dir);

  const lock = takeLock(dir);
  const state = accessState(dir, () => lock.isOpen && lock.close());
  state.write('owner.json', { pid: process.pid });

  return state;
}

/** True when a live process holds the folder's lock. */
export function isStateBusy(stateDir: string): boolean {
  if (!existsSync(join(resolve(stateDir), 'lock'))) return false;

  try {
    takeLock(resolve(stateDir)).close();
    return false;
  } catch (error) {
    if (error instanceof StateBusyError) return true;
    throw error;
  }
}

/** Reads a JSON file of a folder that may be held by another process; null when there is none. */
export function readStateFile(stateDir: string, file: string): unknown {
  return readJson(join(resolve(stateDir), file));
}

/** Replaces a JSON file (mode 0600) of a folder that another process may hold; only for files that the processes of a deployment never write. */
export function writeStateFile(stateDir: string, file: string, value: unknown): void {
  writePrivate(join(resolve(stateDir), file), `${JSON.stringify(value, null, 2)}\n`);
}

function accessState(dir: string, release: () => void): State {
  const path = (...parts: readonly string[]) => join(dir, ...parts);
  const keep = (name: string, make: () => string) => {
    const secrets = asStrings(readJson(path('secrets.json')));
    const known = secrets[name];
    if (known !== undefined) return known;

    const made = make();
    writePrivate(path('secrets.json'), `${JSON.stringify({ ...secrets, [name]: made }, null, 2)}\n`);
    return made;
  };

  return {
    dir,
    path,
    read: (file) => readJson(path(file)),
    write: (file, value) => writePrivate(path(file), `${JSON.stringify(value, null, 2)}\n`),
    secret: (name, bytes = 24) => keep(name, () => randomBytes(bytes).toString('base64url')),
    keep,
    release,
  };
}
/**
 * An exclusive transaction on an empty SQLite file is a kernel lock: it ends with its process, in whatever way, and no
 * start after a crash has to infer from a pid whether the folder is still in use.
 */
function takeLock(dir: string): DatabaseSync {
  const file = join(dir, 'lock');
  closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    if (!isLocked(error)) throw error;
    throw new StateBusyError(dir, ownerOf(dir));
  }
}

function isLocked(error: unknown): boolean {
  const sqliteBusy = 5;
  return typeof error === 'object' && error !== null && 'errcode' in error && error.errcode === sqliteBusy;
}

function ownerOf(dir: string): number | null {
  const owner = readJson(join(dir, 'owner.json'));
  if (typeof owner !== 'object' || owner === null || !('pid' in owner)) return null;
  return typeof owner.pid === 'number' ? owner.pid : null;
}

/** If a folder can't be created, Node may report that its parent does not exist; this throws the system's error for the nearest existing folder instead. */
function makeFolder(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    let parent = dirname(dir);
    while (!existsSync(parent)) parent = dirname(parent);
    accessSync(parent, constants.W_OK);
    throw error;
  }
}

/** Files of two users in one folder would lead to a data directory that neither can open. */
function refuseForeignFolder(dir: string): void {
  const { uid, mode } = statSync(dir);
  const me = process.geteuid?.();

  if (me !== undefined && uid !== me)
    throw new SetupError(
      `${dir} belongs to user id ${uid}, but this process runs as ${me}. Run it as that user, or choose another state folder.`,
    );
  if ((mode & 0o077) !== 0) chmodSync(dir, 0o700);
}

function writePrivate(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.tmp`;
  const descriptor = openSync(temporary, 'w', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function asStrings(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
