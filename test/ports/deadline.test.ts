import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import { Watch } from '../../activities/model/watch.ts';
import { afterMs, deadlineIn } from '../../ports/deadline.ts';

/** Something outside that has answered by the time this process looks again after it was frozen. */
async function answerWhileStanding(): Promise<{ answer: Promise<unknown>; standStill(): Promise<void>; end(): void }> {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const script = `const { parentPort, workerData } = require('node:worker_threads');
    parentPort.postMessage('ready'); Atomics.wait(workerData, 0, 0); Atomics.wait(workerData, 0, 1, 4_600); parentPort.postMessage('answer');`;
  const outside = new Worker(script, { eval: true, workerData: flag });
  await once(outside, 'message');
  return {
    answer: once(outside, 'message'),
    // Out of a timer: what is due by then rings before anything is read.
    standStill: () =>
      new Promise((resolve) =>
        setTimeout(() => {
          Atomics.store(flag, 0, 1);
          Atomics.notify(flag, 0);
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_500);
          resolve();
        }, 1),
      ),
    end: () => void outside.terminate(),
  };
}

const settled = (signal: AbortSignal, answer: Promise<unknown>) =>
  Promise.race([answer.then(() => 'answered'), once(signal, 'abort').then(() => 'timed out')]);

test('a deadline that passes while the process is frozen does not win against an answer that has come', async () => {
  const { answer, standStill, end } = await answerWhileStanding();
  const signal = deadlineIn(2_000);
  await standStill();

  expect(await settled(signal, answer)).toBe('answered');
  expect(signal.aborted).toBe(false);
  end();
});

test('a model call whose process was frozen for longer than its patience reads what the provider has sent', async () => {
  const { answer, standStill, end } = await answerWhileStanding();
  const watch = new Watch(new AbortController().signal, { firstTokenS: 2, idleS: 2 }, { isFinished: false });
  const waiting = watch.waitFor(answer);
  await standStill();

  expect(await waiting).toEqual(['answer']);
  expect(watch.stopped).toBeNull();
  watch.close();
  end();
});

test('a deadline rings when nothing comes, also after a freeze, and not once it is cancelled', async () => {
  const rung: string[] = [];
  const cancel = afterMs(50, () => rung.push('cancelled'));
  afterMs(50, () => rung.push('rung'));
  cancel();
  const { standStill, end } = await answerWhileStanding();
  const signal = deadlineIn(100);
  await standStill();

  await once(signal, 'abort');
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
  expect(rung).toEqual(['rung']);
  end();
});

test('nothing waits with a timer that a freeze would ring', () => {
  const root = join(import.meta.dirname, '../..');
  const sources = ['activities', 'api', 'db', 'domain', 'ports', 'temporal', 'workers'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );

  expect(
    sources.filter((name) => name !== 'ports/deadline.ts' && readFileSync(join(root, name), 'utf8').includes('AbortSignal.timeout(')),
  ).toEqual([]);
});
