import type { Logger } from 'pino';
import type { Databases } from '../../db/databases.ts';
import { readFrameRange } from '../../db/streams/archive.ts';
import { FrameRing } from './frame-ring.ts';
import type { HubLimits } from './limits.ts';
import { isLast, streamFrame } from './stream-frame.ts';

/** Who watches a run: told when there is more, never waited for. */
export interface Watcher {
  /** Frames were handed out, up to `channel.handedOut`. */
  wake(): void;
  /** The run was purged. */
  lose(): void;
}

export interface ChannelDeps {
  readonly db: Databases;
  readonly limits: HubLimits;
  readonly log: Logger;
}

const pageFrames = 500;

/**
 * One watched run in this process. It hands out consecutive numbers only: what is below the next one is dropped, a hole is read from the
 * archive once for all watchers (append comes before publish, so the archive always has it).
 */
export class RunChannel {
  readonly runId: string;
  readonly ring: FrameRing;
  readonly watchers = new Set<Watcher>();
  /** The last number handed out. */
  handedOut: number;
  isEnded: boolean;

  readonly #deps: ChannelDeps;
  #seen: number;
  #isFilling = false;

  constructor(deps: ChannelDeps, run: { readonly runId: string; readonly headSeq: number; readonly isEnded: boolean }) {
    this.#deps = deps;
    this.runId = run.runId;
    this.handedOut = run.headSeq;
    this.isEnded = run.isEnded;
    this.#seen = run.headSeq;
    this.ring = new FrameRing({ frames: deps.limits.ringFrames, bytes: deps.limits.ringBytes });
  }

  /** The last number known to exist, from Redis or the archive: reading goes on behind it. */
  get seen(): number {
    return this.#seen;
  }

  /** Entries of the run's Redis stream, in rising order. */
  receive(texts: readonly string[]): void {
    if (this.#handOutAll(texts) > 0) this.#wakeAll();
    if (this.#seen > this.handedOut) void this.#fill();
  }

  /** A head read from PostgreSQL: what is above the last number handed out is read from the archive. */
  catchUp(headSeq: number): void {
    this.#seen = Math.max(this.#seen, headSeq);
    if (this.#seen > this.handedOut) void this.#fill();
  }

  lose(): void {
    for (const watcher of [...this.watchers]) watcher.lose();
  }

  /** Delivers frames that continue the sequence and drops the rest; returns the number of delivered frames. */
  #handOutAll(texts: readonly string[]): number {
    const before = this.handedOut;
    for (const text of texts) {
      const frame = streamFrame(text);
      this.#seen = Math.max(this.#seen, frame.seq);
      if (frame.seq !== this.handedOut + 1) continue;
      this.ring.push(frame);
      this.handedOut = frame.seq;
      if (isLast(frame)) this.isEnded = true;
    }
    return this.handedOut - before;
  }

  #wakeAll(): void {
    for (const watcher of [...this.watchers]) watcher.wake();
  }

  /** Whatever fails is tried again with the next head. */
  async #fill(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      while (this.handedOut < this.#seen && this.watchers.size > 0) {
        const seen = this.#seen;
        const from = this.handedOut + 1;
        const { texts } = await readFrameRange(this.#deps.db, this.runId, from, from + pageFrames - 1);
        if (this.#handOutAll(texts) > 0) this.#wakeAll();
        // What came from Redis meanwhile may have been all that was read, and what was told of meanwhile was not read at all.
        else if (this.handedOut < from && this.#seen === seen) break;
      }
    } catch (error) {
      this.#deps.log.warn({ err: error, run_id: this.runId }, 'archive could not be read');
    } finally {
      this.#isFilling = false;
    }
  }
}
