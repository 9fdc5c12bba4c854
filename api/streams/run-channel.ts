import type { Logger } from 'pino';
import type { Databases } from '../../db/databases.ts';
import { readFrameRange } from '../../db/streams/archive.ts';
import { FrameRing } from './frame-ring.ts';
import type { HubLimits } from './limits.ts';
import { isLast, streamFrame } from './stream-frame.ts';

/** A watcher of a run: it is notified of new frames, and nothing waits for it. */
export interface Watcher {
  /** New frames are in the channel, up to `handedOut`. */
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
 * One watched run in this process. It hands out consecutive frames only: it drops earlier ones, and reads a gap from the archive once for all watchers (a frame
 * is appended before it is published, so the archive always has it).
 */
export class RunChannel {
  readonly runId: string;
  readonly ring: FrameRing;
  readonly watchers = new Set<Watcher>();
  /** The last seq handed out. */
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

  /** The last seq known to exist, from Redis or the archive; reading continues after it. */
  get seen(): number {
    return this.#seen;
  }

  /** Takes entries of the run's Redis stream, in ascending order. */
  receive(texts: readonly string[]): void {
    if (this.#handOutAll(texts) > 0) this.#wakeAll();
    if (this.#seen > this.handedOut) void this.#fill();
  }

  /** Takes a head read from PostgreSQL: frames after the last one handed out are read from the archive. */
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

  /** Reads the missing frames from the archive. After a failure, the next head tries again. */
  async #fill(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      while (this.handedOut < this.#seen && this.watchers.size > 0) {
        const seen = this.#seen;
        const from = this.handedOut + 1;
        const { texts } = await readFrameRange(this.#deps.db, this.runId, from, from + pageFrames - 1);
        if (this.#handOutAll(texts) > 0) this.#wakeAll();
        // Redis may have delivered the same frames meanwhile, or announced further ones: then the loop continues.
        else if (this.handedOut < from && this.#seen === seen) break;
      }
    } catch (error) {
      this.#deps.log.warn({ err: error, run_id: this.runId }, 'archive could not be read');
    } finally {
      this.#isFilling = false;
    }
  }
}
