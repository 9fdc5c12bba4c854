import { sseOf, type StreamFrame } from './stream-frame.ts';

/** The newest frames of one run, consecutive, bounded by number and bytes. */
export class FrameRing {
  readonly #maxFrames: number;
  readonly #maxBytes: number;
  #frames: StreamFrame[] = [];
  #start = 0;
  #bytes = 0;
  #joined: { readonly first: number; readonly last: number; readonly bytes: Buffer } | null = null;

  constructor(limits: { readonly frames: number; readonly bytes: number }) {
    this.#maxFrames = limits.frames;
    this.#maxBytes = limits.bytes;
  }

  /** The lowest seq in the ring; Infinity when empty. */
  get firstSeq(): number {
    return this.#frames[this.#start]?.seq ?? Infinity;
  }

  push(frame: StreamFrame): void {
    this.#frames.push(frame);
    this.#bytes += 2 * frame.bytes;
    while (this.#frames.length - this.#start > 1 && (this.#frames.length - this.#start > this.#maxFrames || this.#bytes > this.#maxBytes)) {
      this.#bytes -= 2 * (this.#frames[this.#start]?.bytes ?? 0);
      this.#start += 1;
    }
    if (this.#start > this.#maxFrames) {
      this.#frames = this.#frames.slice(this.#start);
      this.#start = 0;
    }
  }

  /** Returns the frames after `seq`, up to about `maxBytes` but at least one if there are any; none if the ring does not reach back that far. */
  after(seq: number, maxBytes: number): readonly StreamFrame[] {
    const first = this.firstSeq;
    if (seq + 1 < first) return [];
    let end = this.#start + seq + 1 - first;
    const begin = end;
    for (let bytes = 0; end < this.#frames.length && bytes < maxBytes; end++) bytes += this.#frames[end]?.bytes ?? 0;
    return this.#frames.slice(begin, end);
  }

  /** The server-sent events of several frames in one buffer, encoded once for all readers of the same frames. */
  joinedSse(frames: readonly StreamFrame[]): Buffer {
    const first = frames[0]?.seq ?? 0;
    const last = frames.at(-1)?.seq ?? 0;
    if (this.#joined?.first !== first || this.#joined.last !== last) this.#joined = { first, last, bytes: joinSse(frames) };
    return this.#joined.bytes;
  }
}

export function joinSse(frames: readonly StreamFrame[]): Buffer {
  const [only] = frames;
  return frames.length === 1 && only ? sseOf(only) : Buffer.concat(frames.map(sseOf));
}
