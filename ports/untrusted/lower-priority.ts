import { constants, getPriority, setPriority } from 'node:os';

/**
 * Lowers the priority of a process, on Linux of the calling thread when `pid` is 0, relative to its current one: a process that was started under `nice` must
 * not be raised, which would take a privilege. Throws when there is no such process.
 */
export function lowerPriority(by: number, pid = 0): void {
  setPriority(pid, Math.min(constants.priority.PRIORITY_LOW, getPriority(pid) + by));
}
