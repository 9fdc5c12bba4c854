import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';

/** Time that the activities of a worker that has stopped polling get to store their results. */
const failedGraceMs = 30_000;
const pollEveryMs = 1_000;

export interface WorkerEnd {
  /** Makes the worker drain. */
  readonly signal: AbortSignal;
  /** For tests. */
  readonly graceMs?: number;
}

/**
 * Whether a worker has ended all its work and only its SDK's core still holds it, as may happen on a busy machine: `finalizeShutdown` then refuses, and nothing
 * is lost.
 */
export function isDrained(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Worker still in use');
}

/**
 * Runs a worker until it has drained. Rejects soon after the worker has finally failed, as it does when its namespace has been missing for a minute: it then
 * stops polling and would wait for all its activities, which may take half an hour. Only a new process can continue.
 */
export async function runToEnd(worker: Worker, { signal, graceMs = failedGraceMs }: WorkerEnd): Promise<void> {
  signal.addEventListener('abort', () => worker.shutdown(), { once: true });
  const run = worker.run().catch(async (error: unknown) => {
    if (signal.aborted && isDrained(error)) return;
    await untilIdle(worker, graceMs);
    throw error;
  });
  await Promise.race([run, untilFailed(worker, graceMs)]);
}

async function untilFailed(worker: Worker, graceMs: number): Promise<void> {
  while (worker.getState() !== 'FAILED') await delay(pollEveryMs, undefined, { ref: false });
  await untilIdle(worker, graceMs);
  throw new Error('the worker polls no more');
}

async function untilIdle(worker: Worker, graceMs: number): Promise<void> {
  const end = Date.now() + graceMs;
  while (worker.getStatus().numInFlightActivities > 0 && Date.now() < end) await delay(pollEveryMs);
}
