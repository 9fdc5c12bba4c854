import type { ProcessName, Stack } from '../../support/stack.ts';

/** One way to read a run's stream over one connection: gives the text of each frame, ends when the server closes. */
export type Wire = (place: WirePlace) => AsyncIterable<string>;

export interface WirePlace {
  readonly stack: Stack;
  readonly process: ProcessName;
  readonly runId: string;
  readonly credential: string;
  /** The last number that was seen; null at the first connection. */
  readonly last: number | null;
  /** Aborted when the reader leaves. */
  readonly signal: AbortSignal;
}

/** A connection that brings no byte for this long is given up: heartbeats come every 15 s. */
const silenceMs = 20_000;

/** The items of a source, as long as they do not keep one waiting for too long. */
export async function* unlessSilent<T>(source: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  let timer = setTimeout(end, silenceMs);
  try {
    for await (const item of source) {
      clearTimeout(timer);
      timer = setTimeout(end, silenceMs);
      yield item;
    }
  } finally {
    clearTimeout(timer);
  }
}
