import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Folder of this installation. */
export const root = join(import.meta.dirname, '..');
/** Folder of what is built from the sources. */
export const dist = join(root, 'dist');

/** A builder that has held the lock for longer is dead: a build takes seconds. */
const lockExpiresMs = 60_000;

export interface BuildRequest {
  /** Names the build among the others in `dist`. */
  readonly name: string;
  /** What the build leaves behind, absolute paths. */
  readonly outputs: readonly string[];
  /** Files and folders that the outputs follow from, absolute paths. */
  readonly sources: readonly string[];
  /** Writes the outputs, each so that readers see the old file or the new one (`replaceFile`). */
  readonly build: () => Promise<void>;
}

/** Builds only if an output is missing or a source has changed. Any number of processes may call it at once: one builds, the others wait for it. */
export async function buildOnce({ name, outputs, sources, build }: BuildRequest): Promise<void> {
  const hashPath = join(dist, `${name}.sha256`);
  const lockPath = join(dist, `${name}.lock`);
  const hash = await hashFiles(sources);
  const isBuilt = async () => {
    const [built] = await Promise.all([readFile(hashPath, 'utf8'), ...outputs.map((path) => stat(path))]).catch(() => [null]);
    return built === hash;
  };

  while (!(await isBuilt())) {
    if (!(await takeLock(lockPath))) {
      await delay(100);
      continue;
    }
    try {
      if (await isBuilt()) return;
      await build();
      await replaceFile(hashPath, hash);
    } finally {
      await rm(lockPath, { force: true });
    }
  }
}

async function hashFiles(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of (await Promise.all(paths.map(filesIn))).flat())
    hash
      .update(`${relative(root, file)}\0`)
      .update(await readFile(file))
      .update('\0');
  return hash.digest('hex');
}

async function filesIn(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

async function takeLock(path: string): Promise<boolean> {
  await mkdir(dist, { recursive: true });
  try {
    await (await open(path, 'wx')).close();
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    const held = await stat(path).catch(() => null);

    if (held && Date.now() - held.mtimeMs > lockExpiresMs) await rm(path, { force: true });
    return false;
  }
}

/** Readers see the old file or the new one, never a partial one. */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${process.pid}`;

  await writeFile(temporary, content);
  await rename(temporary, path);
}
