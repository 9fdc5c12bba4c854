import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What all test runs of this checkout share: wheels, compiled modules, logs. */
export const stateRoot = fileURLToPath(new URL('../../.longhaul/', import.meta.url));

const memory = '/dev/shm';
/** Several times what a whole run holds at once. */
const neededBytes = 2 * 1024 ** 3;

/**
 * Where services and tests keep files that only this run reads: in memory where Linux has room for it, else on the disk. A database is a
 * thousand files, and a disk takes ten times the processor time to make them.
 */
export function scratchFolder(name: string): string {
  if (!hasMemory()) return join(stateRoot, name);
  const folder = join(memory, `longhaul-${createHash('sha256').update(stateRoot).digest('hex').slice(0, 12)}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, name);
}

function hasMemory(): boolean {
  if (process.platform !== 'linux') return false;
  // Tests also run programs from their folders.
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const isExecutable = mounts.some((mount) => mount.includes(` ${memory} `) && !mount.includes('noexec'));
  if (!isExecutable) return false;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= neededBytes;
}
