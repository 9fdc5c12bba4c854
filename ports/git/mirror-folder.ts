import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A file whose modification time is the last use of the mirror. */
const usedFile = 'longhaul-used';
const trashPrefix = '.trash-';
/** Longer than any use of a mirror: every fetch touches it. */
const idleMs = 20 * 60_000;

export interface MirrorFolder {
  readonly name: string;
  readonly bytes: number;
  readonly packs: number;
  readonly usedAtMs: number;
}

/** Creates a repository with the files that git needs, completely or not at all: a concurrent call gets the one that was first. */
export async function makeMirror(root: string, name: string, config: string): Promise<string> {
  const folder = join(root, name);
  if (await exists(join(folder, usedFile))) return folder;
  const staged = join(root, `${trashPrefix}${randomUUID()}`);
  await mkdir(join(staged, 'objects', 'pack'), { recursive: true, mode: 0o700 });
  await mkdir(join(staged, 'refs'), { recursive: true });
  await writeFile(join(staged, 'HEAD'), 'ref: refs/heads/none\n');
  await writeFile(join(staged, 'config'), config);
  await writeFile(join(staged, usedFile), '');
  await rename(staged, folder).catch(async (error: unknown) => {
    await rm(staged, { recursive: true, force: true });
    if (!(await exists(join(folder, usedFile)))) throw error;
  });
  return folder;
}

/** Records that the mirror is in use now, also for other processes that share the folder. */
export async function touchMirror(folder: string): Promise<void> {
  const now = new Date();
  await utimes(join(folder, usedFile), now, now).catch(() => undefined);
}

/** Returns the mirrors below a folder, the least recently used first. */
export async function listMirrors(root: string): Promise<MirrorFolder[]> {
  const names = await readdir(root).catch(() => []);
  const found = await Promise.all(names.filter((name) => !name.startsWith('.')).map((name) => measure(root, name)));
  return found.filter((mirror) => mirror !== null).toSorted((a, b) => a.usedAtMs - b.usedAtMs);
}

async function measure(root: string, name: string): Promise<MirrorFolder | null> {
  const folder = join(root, name);
  const used = await stat(join(folder, usedFile)).catch(() => null);
  if (used === null) return null;
  const { bytes, packs } = await sizeOf(folder);
  return { name, bytes, packs, usedAtMs: used.mtimeMs };
}

/** Returns the size of a folder on disk; files that disappear in the meantime count nothing. */
export async function sizeOf(folder: string): Promise<{ bytes: number; packs: number }> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name)).catch(() => null)),
  );
  return {
    bytes: sizes.reduce((sum, size) => sum + (size?.blocks ?? 0) * 512, 0),
    packs: entries.filter(({ name }) => name.endsWith('.pack')).length,
  };
}

/** Removes an idle mirror; returns whether it did. It is renamed first, so that no process finds half of it. */
export async function dropMirror(root: string, { name, usedAtMs }: Pick<MirrorFolder, 'name' | 'usedAtMs'>): Promise<boolean> {
  if (Date.now() - usedAtMs < idleMs) return false;
  const trash = join(root, `${trashPrefix}${randomUUID()}`);
  const isMoved = await rename(join(root, name), trash).then(
    () => true,
    () => false,
  );
  if (isMoved) await rm(trash, { recursive: true, force: true });
  return isMoved;
}

/** Removes folders that a killed process has left before or after a rename. */
export async function dropTrash(root: string): Promise<void> {
  const names = await readdir(root).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(trashPrefix))) {
    const found = await stat(join(root, name)).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > idleMs) await rm(join(root, name), { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
