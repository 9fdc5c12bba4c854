import { constants, getPriority, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';

/**
 * Lowers the priority of a process, on Linux of the calling thread when `pid` is 0, relative to its current one: a process that was started under `nice` must
 * not be raised, which would take a privilege. Throws when there is no such process.
 */
export function lowerPriority(by: number, pid = 0): void {
  setPriority(pid, Math.min(constants.priority.PRIORITY_LOW, getPriority(pid) + by));
}

/** For a child that the kernel does not end with its parent: a thread checks for it, since a job may keep the main thread busy forever. */
export function watchParent(): void {
  const script = `const parent = process.ppid; setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000)`;
  new Worker(script, { eval: true, env: {}, resourceLimits: { maxOldGenerationSizeMb: 8 } }).unref();
}
