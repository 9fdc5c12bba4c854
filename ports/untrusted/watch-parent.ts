import { Worker } from 'node:worker_threads';

/** For a child that the kernel does not end with its parent: a thread checks for it, since a job may keep the main thread busy forever. */
export function watchParent(): void {
  const script = `const parent = process.ppid; setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000)`;
  new Worker(script, { eval: true, env: {}, resourceLimits: { maxOldGenerationSizeMb: 8 } }).unref();
}
