import { pino, type DestinationStream } from 'pino';

const maxWaitingLength = 5_000_000;

/**
 * Where a process writes its log: stdout. An output that takes nothing, as a file on a full disk does, ends no process and keeps none from ending:
 * lines wait, five million characters at most, and leave with the first line for which there is room again. What is beyond that, or waits at the
 * end, is lost.
 */
export function logOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxLength: maxWaitingLength });
  const flushSync = output.flushSync.bind(output);
  let isFailing = false;
  output.on('error', () => (isFailing = true)); // unheard it would end the process
  output.on('write', () => (isFailing = false));
  output.flushSync = () => {
    // At the end of the process and behind a fatal line: it tries until it succeeds.
    if (!isFailing) flushSync();
  };
  return output;
}
