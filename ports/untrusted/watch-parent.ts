import { Worker } from 'node:worker_threads';

/** For a child where the kernel does not end it with its parent: a thread checks for it, since a job may keep the main one busy for ever. */
export function watchParent(): void {
  const script = `const parent = process.ppid; setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000)`;
  new Worker(script, { eval: true, env: {}, resourceLimits: { maxOldGenerationSizeMb: 8 } }).unref();
}
