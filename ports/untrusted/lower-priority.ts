import { constants, getPriority, setPriority } from 'node:os';

/**
 * Lowers the priority of a process, on Linux of the calling thread where `pid` is 0, below what it was started with: whoever runs under `nice` may not be raised, and needs a right
 * for it. Throws where there is no such process.
 */
export function lowerPriority(by: number, pid = 0): void {
  setPriority(pid, Math.min(constants.priority.PRIORITY_LOW, getPriority(pid) + by));
}
