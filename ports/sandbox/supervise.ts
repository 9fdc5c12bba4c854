import type { ChildProcess } from 'node:child_process';
import { Readable } from 'node:stream';
import { kill, resultFd } from './launch.ts';
import { watch } from './watch.ts';

/** The output of a child, and how it ended. */
export interface Ended {
  readonly stdout: Buffer;
  /** Stdout and stderr, in the order in which they arrived. */
  readonly told: Buffer;
  readonly result: Buffer;
  readonly over: 'cpu' | 'memory' | 'output' | null;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The limits of a child, and how to start its work. */
export interface Supervision {
  readonly limits: { readonly memoryMb: number; readonly cpuMs: number };
  readonly signal: AbortSignal;
  /** Maximum bytes of everything that the child writes. */
  readonly maxBytes: number;
  readonly start: () => void;
}

/** Starts a child's work, enforces its limits, and returns its output; the child is dead when this returns or throws. */
export function supervise(child: ChildProcess, { limits, signal, maxBytes, start }: Supervision): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let over: Ended['over'] = null;
    const stop = (reason: NonNullable<Ended['over']>) => {
      over ??= reason;
      kill(child);
    };
    const output = collect(child, maxBytes, () => stop('output'));
    const abort = () => kill(child);
    const endWatch = child.pid === undefined ? () => undefined : watch(child.pid, limits, stop);
    signal.addEventListener('abort', abort, { once: true });
    child.once('close', (code, endSignal) => {
      endWatch();
      signal.removeEventListener('abort', abort);
      if (signal.aborted) reject(signal.reason);
      else resolve({ ...output(), over, code, signal: endSignal });
    });
    if (signal.aborted) abort();
    else start();
  });
}

/** Collects a child's output; more than `maxBytes` in total ends the child. */
function collect(child: ChildProcess, maxBytes: number, over: () => void): () => Pick<Ended, 'stdout' | 'told' | 'result'> {
  const parts: { readonly from: 'stdout' | 'stderr' | 'result'; readonly bytes: Buffer }[] = [];
  let size = 0;
  const read = (stream: unknown, from: (typeof parts)[number]['from']) => {
    if (!(stream instanceof Readable)) return;
    stream.on('data', (bytes: Buffer) => {
      size += bytes.length;
      if (size > maxBytes) over();
      else parts.push({ from, bytes });
    });
  };
  read(child.stdout, 'stdout');
  read(child.stderr, 'stderr');
  read(child.stdio[resultFd], 'result');
  const of = (...names: readonly string[]) => Buffer.concat(parts.filter((part) => names.includes(part.from)).map((part) => part.bytes));
  return () => ({ stdout: of('stdout'), told: of('stdout', 'stderr'), result: of('result') });
}
