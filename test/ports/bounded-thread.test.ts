import { expect, test } from '@jest/globals';
import { createBoundedThread, ThreadLimit } from '../../ports/untrusted/bounded-thread.ts';

/** A thread whose job is to be busy for so many milliseconds. */
const script = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ id, job }) => {
      for (const end = performance.now() + job; performance.now() < end; );
      parentPort.postMessage({ id, result: job });
    });
    parentPort.postMessage('ready');
  `)}`,
);

/** A thread whose job is to block for so many milliseconds. */
const sleepyScript = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ id, job }) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, job);
      parentPort.postMessage({ id, result: job });
    });
    parentPort.postMessage('ready');
  `)}`,
);

test('a job that outlives its time is ended, and the next one gets a new thread', async () => {
  const thread = createBoundedThread<number, number>(script, { maxMs: 300, heapMb: 32 });

  await expect(thread.ask(60_000)).rejects.toThrow(ThreadLimit);
  expect(await thread.ask(1)).toBe(1);
  await thread.close();
});

test('time in which the process itself was frozen is not held against the job', async () => {
  const thread = createBoundedThread<number, number>(script, { maxMs: 500, heapMb: 32 });
  await thread.ask(0);

  const asked = thread.ask(1_300);
  await new Promise((resolve) => setTimeout(resolve, 20));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);

  expect(await asked).toBe(1_300);
  await thread.close();
});

test('a thread that gets too little of the processor is given the time it needs, and one that waits for nothing is ended all the same', async () => {
  const starved = createBoundedThread<number, number>(sleepyScript, { maxMs: 200, heapMb: 32 });
  await starved.ask(0);

  expect(await starved.ask(1_000)).toBe(1_000); // without work, as if it had been given none of the processor
  await expect(starved.ask(60_000)).rejects.toThrow(ThreadLimit);
  await starved.close();
});

test('a job that can not be handed over is refused, and neither it nor its time is left behind', async () => {
  const thread = createBoundedThread<unknown, unknown>(script, { maxMs: 50, heapMb: 32 });

  await expect(thread.ask(() => 1)).rejects.toThrow('could not be cloned');
  await new Promise((resolve) => setTimeout(resolve, 150)); // longer than a job may take
  expect(await thread.ask(1)).toBe(1);
  await thread.close();
});
