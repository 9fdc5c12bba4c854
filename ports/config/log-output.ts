import { pino, type DestinationStream } from 'pino';

const maxWaitingLength = 5_000_000;

/**
 * The output of a process's log: stdout. An output that accepts nothing, like a file on a full disk, does not end a process or keep it from ending: lines wait,
 * at most five million characters, and are written with the first line that is accepted again. Lines beyond that, or that still wait at the end, are lost.
 */
export function logOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxLength: maxWaitingLength });
  const flushSync = output.flushSync.bind(output);
  let isFailing = false;
  output.on('error', () => (isFailing = true)); // without a listener it would end the process
  output.on('write', () => (isFailing = false));
  output.flushSync = () => {
    // Called at the end of the process and after a fatal line: it retries until it succeeds.
    if (!isFailing) flushSync();
  };
  return output;
}
