import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A process and all that descend from it, itself first. */
export function familyOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(Number(name)) : null;
    if (parent !== null) parents.set(Number(name), parent);
  }
  const family = [pid];
  for (const member of family) for (const [child, parent] of parents) if (parent === member) family.push(child);
  return family;
}

/** Sends a signal to each, whether it is still there or not. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // it has ended meanwhile
    }
  }
}

/** Freezes processes most of the time, as on a machine that has too much to do. */
export async function stutter(pids: readonly number[], ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    signalAll(pids, 'SIGSTOP');
    await delay(250);
    signalAll(pids, 'SIGCONT');
    await delay(60);
  }
}

/** Which of these processes holds the near end of a TCP connection on this machine; null when none does (any more). */
export function ownerOfConnection(ports: { readonly near: number; readonly far: number }, pids: readonly number[]): number | null {
  const inodes = inodesOf(ports);
  return pids.find((pid) => inodes.some((inode) => holds(pid, `socket:[${inode}]`))) ?? null;
}

function inodesOf({ near, far }: { readonly near: number; readonly far: number }): string[] {
  const endOf = (port: number) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((text) => text.trim().split(/\s+/))
      .filter((fields) => fields[1]?.endsWith(endOf(near)) && fields[2]?.endsWith(endOf(far)))
      .flatMap((fields) => fields[9] ?? []),
  );
}

function holds(pid: number, link: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((name) => linkOf(`${folder}/${name}`) === link);
  } catch {
    return false;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]); // the name before it may hold anything
  } catch {
    return null;
  }
}
