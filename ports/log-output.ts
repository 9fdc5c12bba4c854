import { pino, type DestinationStream } from 'pino';

const maxWaitingLength = 5_000_000;

/**
 * Where a process writes its log: stdout, unless another descriptor is given. An output that takes nothing, as a file on a full disk does, ends no
 * process: lines wait, five million characters at most, and leave with the first line for which there is room again. What is beyond that is lost.
 */
export function logOutput(fd = 1): DestinationStream {
  const output = pino.destination({ dest: fd, sync: false, maxLength: maxWaitingLength });
  output.on('error', () => undefined); // unheard it would end the process
  return output;
}
