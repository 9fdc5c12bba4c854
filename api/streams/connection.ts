import type { RightHolder } from '../../db/streams/access.ts';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import type { Slot } from './admission.ts';
import { closeOf, type CloseName } from './close-reasons.ts';
import type { HubLimits } from './limits.ts';
import { noticeText, type NoticeRun, type StreamAnswer } from './notice.ts';
import type { ArchivePage, PageCache } from './page-cache.ts';
import type { Held } from './held.ts';
import type { RunChannel, Watcher } from './run-channel.ts';
import { isLast, type StreamFrame } from './stream-frame.ts';

/** The wire under a connection: SSE or WebSocket. */
export interface Sink {
  /** Bytes that were handed over but not yet sent. */
  readonly unsentBytes: number;
  /** Writes whole frames in one go. */
  send(frames: readonly StreamFrame[], channel: RunChannel): void;
  notice(text: string): void;
  /** Keeps an idle wire alive; false when the other side is gone. */
  beat(now: number): boolean;
  /** Ends politely; whatever is left of the wire 5 s later is destroyed. */
  end(reason: CloseName): void;
  destroy(): void;
}

/** What all open streams of a process have in common. */
export interface StreamHost {
  readonly pages: PageCache;
  /** The time that keys are rotated by. */
  readonly now: () => Date;
  readonly limits: HubLimits;
  /** Called once, when nothing more will be sent. */
  leave(connection: StreamConnection, stream: OpenStream): void;
}

/** The part of a holder that the opening request decides. */
export type StreamRight = Omit<RightHolder, 'runId' | 'place' | 'openedAt'>;

/** What one stream lives by. A process keeps thousands of these for an hour: nothing belongs here that only its opening needs. */
export interface OpenStream {
  readonly channel: RunChannel;
  readonly slot: Slot;
  readonly sink: Sink;
  readonly run: NoticeRun;
  readonly right: StreamRight;
  readonly answer: StreamAnswer;
}

/** Frames written at once to a connection that catches up. */
const maxWriteBytes = 64 * 1024;

/** One open stream: a place in the run's numbers, moved forward by ring or archive as fast as the wire takes it. Nothing is skipped for it. */
export class StreamConnection implements Watcher, Held {
  readonly #host: StreamHost;
  readonly #stream: OpenStream;
  readonly #openedAt = performance.now();
  readonly #openedAtMs: number;
  #cursor: number;
  #page: ArchivePage | null = null;
  #isReading = false;
  #isClosed = false;
  /** Since when the wire takes nothing; 0 while it does. */
  #stalledSince = 0;
  #unsentBefore = 0;

  constructor(host: StreamHost, stream: OpenStream, cursor: number) {
    this.#host = host;
    this.#openedAtMs = host.now().getTime();
    this.#stream = stream;
    this.#cursor = cursor;
  }

  get holder(): RightHolder {
    return { ...this.#stream.right, runId: this.#stream.channel.runId, place: null, openedAt: new Date(this.#openedAtMs) };
  }

  /** The last number sent. */
  get cursor(): number {
    return this.#cursor;
  }

  wake(): void {
    if (this.#stalledSince === 0) this.advance();
  }

  /** Called when the wire has sent its buffer. */
  drained(): void {
    this.#stalledSince = 0;
    this.advance();
  }

  lose(): void {
    this.close(fail('not_found'));
  }

  /** The client has left. */
  gone(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#page = null;
    this.#host.leave(this, this.#stream);
  }

  /** Sends whatever there is behind the cursor. */
  advance(): void {
    const { channel, sink } = this.#stream;
    while (!this.#isClosed && !this.#isReading) {
      if (this.#cursor >= channel.handedOut) {
        this.#page = null; // an idle reader holds no page either
        if (channel.isEnded) this.#finish();
        return;
      }
      if (sink.unsentBytes >= this.#host.limits.unsentBytes) return this.#stall();

      const frames = this.#next();
      if (frames.length > 0) this.#send(frames);
      else if (this.#page) this.#leavePage(this.#page);
      else void this.#readPage();
    }
  }

  /** Once a second: a stalled wire, an old connection, an idle one. For how long this process has stood still meanwhile is no fault of a reader. */
  tick(now: number, stoodStillMs: number): void {
    const { limits } = this.#host;
    const { sink } = this.#stream;
    if (!sink.beat(now)) return sink.destroy();

    if (this.#stalledSince > 0) {
      const unsent = sink.unsentBytes;
      if (unsent < limits.unsentBytes) return this.drained();
      this.#stalledSince += stoodStillMs;
      if (unsent < this.#unsentBefore) this.#stalledSince = now;
      this.#unsentBefore = unsent;
      if (now - this.#stalledSince >= limits.stallMs) this.#drop();
      return;
    }
    if (now - this.#openedAt >= limits.maxAgeMs) return this.#end('max_age');
    this.advance();
  }

  /** Ends the stream with a notice. */
  close(failure: Failure, reason: CloseName = closeOf(failure.code)): void {
    if (this.#isClosed) return;
    this.#notice(failure);
    this.#end(reason);
  }

  #next(): readonly StreamFrame[] {
    if (!this.#page) return this.#stream.channel.ring.after(this.#cursor, maxWriteBytes);

    const { frames } = this.#page;
    const start = firstAbove(frames, this.#cursor);
    let end = start;
    for (let bytes = 0; end < frames.length && bytes < maxWriteBytes; end++) bytes += frames[end]?.bytes ?? 0;
    return frames.slice(start, end);
  }

  #send(frames: readonly StreamFrame[]): void {
    const last = frames.at(-1);
    if (!last) return;
    this.#stream.sink.send(frames, this.#stream.channel);
    this.#cursor = last.seq;
    if (isLast(last)) this.#finish();
  }

  #leavePage(page: ArchivePage): void {
    this.#cursor = Math.max(this.#cursor, page.coveredTo);
    this.#page = null;
  }

  async #readPage(): Promise<void> {
    const { channel } = this.#stream;
    this.#isReading = true;
    const upTo = Math.min(channel.handedOut, channel.ring.firstSeq - 1);
    const page = await this.#host.pages.read(channel.runId, this.#cursor + 1, upTo).catch(() => null);

    this.#isReading = false;
    // Without progress (the database is away, the run purged) the next tick tries again.
    if (!page || page.coveredTo <= this.#cursor) return;
    this.#page = page;
    this.advance();
  }

  #stall(): void {
    if (this.#stalledSince > 0) return;
    this.#stalledSince = performance.now();
    this.#unsentBefore = this.#stream.sink.unsentBytes;
    this.#page = null; // a stalled reader holds no page; the cache may still have it
  }

  #drop(): void {
    this.#notice(fail('rate_limited', { reason: 'slow_consumer', detail: 'The client reads too slowly.' }));
    this.#end('slow_consumer');
    this.#stream.sink.destroy();
  }

  #notice(failure: Failure): void {
    const { answer, run, sink } = this.#stream;
    sink.notice(noticeText(run, failure, { resumeAfterSeq: this.#cursor, answer }));
  }

  #finish(): void {
    this.#end('finished');
  }

  #end(reason: CloseName): void {
    if (this.#isClosed) return;
    this.#stream.sink.end(reason);
    this.gone();
  }
}

/** Position of the first frame with a higher number. */
function firstAbove(frames: readonly StreamFrame[], seq: number): number {
  let low = 0;
  let high = frames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((frames[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
