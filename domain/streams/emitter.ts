import type { Logger } from 'pino';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Databases } from '../../db/databases.ts';
import { appendedFrames, type RawAnswer } from '../../db/streams/append.ts';
import { type AppendConnection, type AppendFault, createAppendConnection, faultOf } from '../../db/streams/append-connection.ts';
import type { CancelBus } from '../../db/streams/cancel-bus.ts';
import { createCommitPace } from './commit-pace.ts';
import { FrameWriter, type WriterIdentity } from './frame-writer.ts';
import type { Publisher } from '../../db/streams/publisher.ts';
import { createStreamBuffer } from './stream-buffer.ts';

export type { FrameWriter } from './frame-writer.ts';

export interface EmitterDeps {
  readonly db: Databases;
  readonly publisher: Publisher;
  readonly cancelBus?: CancelBus;
  readonly log: Logger;
}

/** Deltas of a run are appended at this interval, or when `maxMergedBytes` are waiting. */
const intervalMs = 50;
/** One commit per process in this time; a little longer than the interval, so that runs due within it share a commit. */
const paceMs = 55;
const maxMergedBytes = 2 * 1024;
/** The largest argument of one append; the rest follows at once. */
const maxAppendBytes = 4 * 1024 * 1024;
const lockWaitMs = 1_000;
const autocommitLockWaitMs = 20;
const lockRetryMs = 250;
const firstPauseMs = 100;
const maxPauseMs = 2_000;
const maxCloseMs = 5_000;

/** Creates the emitter of a process. It holds its own connection to PostgreSQL: close it before the databases. */
export function createEmitter(deps: EmitterDeps): Emitter {
  return new Emitter(deps);
}

/** The frames of all activities of a process: one flusher, one append in flight, then one publish per run. */
export class Emitter {
  /** Commits and frames written by this process. */
  readonly counts = { appends: 0, frames: 0 };

  readonly #deps: EmitterDeps;
  readonly #connection: AppendConnection;
  readonly #writers = new Set<FrameWriter>();
  readonly #pace = createCommitPace(paceMs);
  readonly #room = createStreamBuffer();
  readonly #whenIdle: (() => void)[] = [];
  readonly #unlisten: (() => void) | undefined;
  #isAppending = false;
  #isClosed = false;
  #pauseMs = 0;
  #pausedUntil = 0;
  #wakeAt = Infinity;
  #timer: NodeJS.Timeout | null = null;

  constructor(deps: EmitterDeps) {
    this.#deps = deps;
    this.#connection = createAppendConnection(deps.db);
    this.#unlisten = deps.cancelBus?.onCancelled((runId) => {
      for (const writer of this.#writers) if (writer.identity.run.runId === runId) writer.cancel();
    });
  }

  open(identity: WriterIdentity): FrameWriter {
    const writer = new FrameWriter(
      {
        wake: (woken) => this.#wakeNoLaterThan(dueAt(woken)),
        account: (changed, bytes) => this.#room.account(changed, bytes),
        room: (waiting) => this.#room.wait(waiting),
        release: (released) => {
          this.#writers.delete(released);
          this.#room.account(released, 0);
        },
      },
      identity,
    );
    this.#writers.add(writer);
    return writer;
  }

  /** Appends pending frames (for at most 5 s) and frees the connection. */
  async close(): Promise<void> {
    this.#unlisten?.();
    const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    this.#wakeNoLaterThan(0);
    await Promise.race([idle, new Promise<void>((resolve) => setTimeout(resolve, maxCloseMs).unref())]);
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#connection.close();
  }

  #wakeNoLaterThan(due: number): void {
    if (this.#isAppending || this.#isClosed) return; // checks again when it is done
    const now = performance.now();
    const at = Math.max(due, now + this.#pace.waitMs(now), this.#pausedUntil);
    if (at >= this.#wakeAt) return;

    if (this.#timer) clearTimeout(this.#timer);
    this.#wakeAt = at;
    this.#timer = setTimeout(() => void this.#flush(), Math.max(0, at - now));
  }

  async #flush(): Promise<void> {
    this.#wakeAt = Infinity;
    this.#timer = null;
    const now = performance.now();
    const due = this.#collect(now);

    if (due.length > 0) {
      this.#isAppending = true;
      this.#pace.spend(now);
      await this.#appendAll(due);
      this.#isAppending = false;
    }
    const next = [...this.#writers].filter((writer) => writer.hasWork).map(dueAt);
    if (next.length > 0) this.#wakeNoLaterThan(Math.min(...next));
    else for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** Takes every writer with pending frames, since they share the commit. A run whose row was locked is appended alone. */
  #collect(now: number): FrameWriter[] {
    const working = [...this.#writers].filter((writer) => writer.hasWork && writer.retryAt <= now);
    const alone = working.find((writer) => writer.retryAt > 0);
    if (alone) return [alone];

    let bytes = 0;
    return working.filter((writer) => {
      if (bytes > maxAppendBytes) return false;
      bytes += writer.bytes;
      return true;
    });
  }

  async #appendAll(due: readonly FrameWriter[]): Promise<void> {
    const isAlone = due.some((writer) => writer.retryAt > 0);
    try {
      await this.#append(due, isAlone ? autocommitLockWaitMs : lockWaitMs);
      this.#pauseMs = 0;
    } catch (error) {
      const fault = faultOf(error);
      if (fault === 'passing') this.#pause(error);
      else if (due.length === 1) this.#refuse(due[0], fault, error);
      else for (const writer of due) await this.#appendInAutocommit(writer);
    }
  }

  async #appendInAutocommit(writer: FrameWriter): Promise<void> {
    try {
      await this.#append([writer], autocommitLockWaitMs);
    } catch (error) {
      this.#refuse(writer, faultOf(error), error);
    }
  }

  async #append(due: readonly FrameWriter[], waitMs: number): Promise<void> {
    const startedAt = performance.now();
    const at = this.#deps.db.clock.now();
    const ready = due.filter((writer) => this.#canSeal(writer, at));
    const sealed = ready.map((writer) => writer.seal(at));
    if (sealed.length === 0) return;
    const answers = await this.#connection.append(sealed, waitMs);

    this.#deps.publisher.publish(appendedFrames(sealed, answers));
    this.counts.appends += 1;
    this.counts.frames += answers.reduce((sum, answer) => sum + framesOf(answer), 0);
    ready.forEach((writer, index) => {
      const answer = answers[index];
      if (answer) writer.settle(answer, startedAt);
    });
  }

  /** Excludes a writer whose frames can't be serialised, so that it does not block the others. */
  #canSeal(writer: FrameWriter, at: Date): boolean {
    try {
      writer.seal(at);
      return true;
    } catch (error) {
      this.#refuse(writer, 'lasting', error);
      return false;
    }
  }

  /** PostgreSQL is unavailable: sealed batches are sent again unchanged, the rest continues to merge. */
  #pause(error: unknown): void {
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, firstPauseMs), maxPauseMs);
    this.#pausedUntil = performance.now() + this.#pauseMs;
    this.#deps.log.warn({ err: error, pause_ms: this.#pauseMs }, 'append failed');
  }

  #refuse(writer: FrameWriter | undefined, fault: AppendFault, error: unknown): void {
    if (!writer || fault === 'passing') return;
    if (fault === 'lock') {
      writer.retryAt = performance.now() + lockRetryMs;
      return;
    }
    this.#deps.log.error({ err: error, run_id: writer.identity.run.runId, scope: writer.identity.scope }, 'frames refused');
    writer.kill(fail('internal_error', { detail: 'Frames were refused.', cause: error }));
  }
}

/** When a writer needs the next append; 0 means at once. */
function dueAt(writer: FrameWriter): number {
  if (writer.retryAt > 0) return writer.retryAt;
  if (writer.isUrgent || writer.bytes >= maxMergedBytes) return 0;
  return writer.lastFlushAt + intervalMs;
}

function framesOf(answer: RawAnswer): number {
  return answer.result === 'ok' && answer.first && answer.last ? answer.last - answer.first + 1 : 0;
}
