import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const stdout = 1;
const maxWaitingLength = 5_000_000;
const millisecondsBeforeRetry = 100;
const maxRetriesOfFlush = 10;

/**
 * The output of a process's log: stdout, written off the main thread. An output that accepts nothing, like a file on a full disk, does not end a process or keep
 * it from ending: lines wait, at most five million characters, and are written with the first line that is accepted again. Lines beyond that, or that still wait
 * at the end, are lost. (pino's own destination retries its last write for ever on a full disk, so a process that ends then never does.)
 */
export function logOutput(): DestinationStream & { flushSync(): void } {
  let waiting: string[] = [];
  let waitingLength = 0;
  let rest: Buffer = Buffer.alloc(0); // what was taken for writing and is not accepted yet
  let isWriting = false;

  function take(): Buffer {
    if (rest.length > 0 || waiting.length === 0) return rest;
    rest = Buffer.from(waiting.join(''));
    waiting = [];
    waitingLength = 0;
    return rest;
  }

  function writeNext(): void {
    if (take().length === 0) return;
    isWriting = true;
    write(stdout, rest, (error, accepted) => {
      isWriting = false;
      if (!error) rest = rest.subarray(accepted);
      if (!error) writeNext();
      else if (isBusy(error)) setTimeout(() => isWriting || writeNext(), millisecondsBeforeRetry).unref();
    });
  }

  /** Called at the end of the process and after a fatal line. */
  function flushSync(): void {
    // What is under way is written by its own thread, which the end of the process awaits.
    const underWay = isWriting ? rest : undefined;
    if (underWay) rest = Buffer.alloc(0);
    for (let retries = 0; take().length > 0;) {
      try {
        rest = rest.subarray(writeSync(stdout, rest));
      } catch (error) {
        if (!isBusy(error) || retries++ === maxRetriesOfFlush) break;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millisecondsBeforeRetry);
      }
    }
    if (underWay) rest = Buffer.concat([underWay, rest]);
  }

  process.on('exit', flushSync);
  return {
    write(line) {
      if (waitingLength + line.length > maxWaitingLength) return;
      waiting.push(line);
      waitingLength += line.length;
      if (!isWriting) writeNext();
    },
    flushSync,
  };
}

/** Whether a pipe that doesn't block has no room just now. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
