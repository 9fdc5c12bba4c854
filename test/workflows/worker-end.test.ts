import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runToEnd } from '../../workers/run-to-end.ts';
import { testNamespace, type TestNamespace } from '../support/temporal.ts';
import { createTestWorker } from '../support/worker.ts';

let place: TestNamespace;

beforeAll(async () => {
  place = await testNamespace();
});
afterAll(() => place.close());

/** A worker whose core still holds it when all its work has ended, as on a busy machine. */
async function heldWorker() {
  const { worker, connection } = await createTestWorker(place, {});
  const run = worker.run.bind(worker);
  Object.assign(worker, {
    run: async () => {
      await run();
      throw new Error('Worker still in use, cannot finalize shutdown');
    },
  });
  return { worker, connection };
}

test('a worker that was told to stop and has drained has stopped, though the core of its SDK lets go late', async () => {
  const { worker, connection } = await heldWorker();
  const stop = new AbortController();
  const ended = runToEnd(worker, { signal: stop.signal });

  stop.abort();

  await expect(ended).resolves.toBeUndefined();
  await connection.close();
});

test('the same error of a worker that nobody has told to stop is a failure', async () => {
  const { worker, connection } = await heldWorker();
  const ended = runToEnd(worker, { signal: new AbortController().signal, graceMs: 0 });

  worker.shutdown();

  await expect(ended).rejects.toThrow('Worker still in use');
  await connection.close();
});
