import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import type { ThreadAnswer } from '../untrusted/bounded-thread.ts';
import { lowerPriority } from '../untrusted/lower-priority.ts';
import type { PasswordJob } from './hasher.ts';

/** Low enough that request handling comes first, and high enough that a sign-in is never starved. */
const niceness = 10;

// Linux sets a priority per thread, and 0 is the calling one; elsewhere it would be that of the whole process.
if (process.platform === 'linux') lowerPriority(niceness);

parentPort?.on('message', ({ id, job }: { id: number; job: PasswordJob }) => parentPort?.postMessage(answer(id, job)));
parentPort?.postMessage('ready');

function answer(id: number, job: PasswordJob): ThreadAnswer<boolean | string> {
  try {
    return { id, result: job.kind === 'verify' ? verifySync(job.storedHash, job.password) : hashSync(job.password, job.parameters) };
  } catch (error) {
    return { id, problem: error instanceof Error ? error.message : 'not hashed' };
  }
}
