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
  /** Bytes that were written but not yet sent. */
  readonly unsentBytes: number;
  /** Writes whole frames at once. */
  send(frames: readonly StreamFrame[], channel: RunChannel): void;
  notice(text: string): void;
  /** Keeps an idle wire alive; returns false if the client is lost. */
  heartbeat(now: number): boolean;
  /** Ends the wire gracefully; destroys it 5 s later if it is still open. */
  end(reason: CloseName): void;
  destroy(): void;
}

/** What all open streams of a process share. */
export interface StreamHost {
  readonly pages: PageCache;
  /** The clock of the database, which also dates rotations of keys. */
  readonly now: () => Date;
  readonly limits: HubLimits;
  /** Called once, when nothing more will be sent. */
  leave(connection: StreamConnection, stream: OpenStream): void;
}

/** The part of a holder that is known when the stream starts. */
export type StreamRight = Omit<RightHolder, 'runId' | 'place' | 'openedAt'>;

/** What one stream needs. A process keeps thousands of these for an hour: nothing belongs here that only the stream connect needs. */
export interface OpenStream {
  readonly channel: RunChannel;
  readonly slot: Slot;
  readonly sink: Sink;
  readonly run: NoticeRun;
  readonly right: StreamRight;
  readonly answer: StreamAnswer;
}

/** About how many bytes of frames are written at once to a connection that catches up. */
const maxWriteBytes = 64 * 1024;

/** One open stream: a position in the run's frames, moved forward from ring or archive as fast as the client reads. It skips no frame. */
export class StreamConnection implements Watcher, Held {
  readonly #host: StreamHost;
  readonly #stream: OpenStream;
  readonly #openedAt = performance.now();
  readonly #openedAtMs: number;
  #cursor: number;
  #page: ArchivePage | null = null;
  #isReading = false;
  #isClosed = false;
  /** The time at which the wire stalled; 0 while it does not. */
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

  /** The last seq sent. */
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

  /** Leaves the hub, once: the client has disconnected, or the stream has ended. */
  gone(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#page = null;
    this.#host.leave(this, this.#stream);
  }

  /** Sends the frames after the cursor, until none is left or the wire stalls. */
  advance(): void {
    const { channel, sink } = this.#stream;
    while (!this.#isClosed && !this.#isReading) {
      if (this.#cursor >= channel.handedOut) {
        this.#page = null; // an idle connection holds no page either
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

  /** Called once a second: checks for a lost client, a stalled wire and the maximum age. While this process was frozen, no time counts as a stall. */
  tick(now: number, stoodStillMs: number): void {
    const { limits } = this.#host;
    const { sink } = this.#stream;
    if (!sink.heartbeat(now)) return sink.destroy();

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
    // Without progress (the database is unavailable, the run purged), the next tick tries again.
    if (!page || page.coveredTo <= this.#cursor) return;
    this.#page = page;
    this.advance();
  }

  #stall(): void {
    if (this.#stalledSince > 0) return;
    this.#stalledSince = performance.now();
    this.#unsentBefore = this.#stream.sink.unsentBytes;
    this.#page = null; // a stalled connection holds no page; the cache may still have it
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

/** Returns the index of the first frame with a higher seq. */
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
