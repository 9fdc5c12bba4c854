import type { Logger } from 'pino';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Databases } from '../orm.ts';
import { appendedFrames, type RawAnswer } from './append.ts';
import { createAppendConnection, faultOf } from './append-connection.ts';
import type { CancelBus } from './cancel-bus.ts';
import { createCommitPace } from './commit-pace.ts';
import { FrameWriter, type WriterHost, type WriterIdentity } from './frame-writer.ts';
import type { Publisher } from './publisher.ts';
import { createRoom } from './room.ts';

export type { FrameWriter, WriterAbort, WriterIdentity } from './frame-writer.ts';

/** The frames of all activities of a process: one flusher, one append in flight. Close it before the database. */
export interface Emitter {
  open(identity: WriterIdentity): FrameWriter;
  /** Appends what is pending (at most 5 s) and frees the connection. */
  close(): Promise<void>;
  readonly counts: { appends: number; frames: number };
}

export interface EmitterDeps {
  readonly db: Databases;
  readonly publisher: Publisher;
  readonly cancelBus?: CancelBus;
  readonly log: Logger;
}

/** Deltas of a run leave at this interval or when this much waits. */
const intervalMs = 50;
/** One commit per process in this time; a little longer than the interval, so that the runs due in it share a commit. */
const paceMs = 55;
const limitMergedBytes = 2 * 1024;
/** Longest argument of one append; the rest follows at once. */
const limitAppendBytes = 4 * 1024 * 1024;
const lockWaitMs = 1_000;
const lockWaitAloneMs = 20;
const lockRetryMs = 250;
const limitPauseMs = 2_000;
const limitCloseMs = 5_000;

/** Makes the emitter of a process. It keeps one connection to PostgreSQL of its own. */
export function createEmitter({ db, publisher, cancelBus, log }: EmitterDeps): Emitter {
  const writers = new Set<FrameWriter>();
  const connection = createAppendConnection(db);
  const pace = createCommitPace(paceMs);
  const room = createRoom();
  const counts = { appends: 0, frames: 0 };
  let isAppending = false;
  let isClosed = false;
  let pauseMs = 0;
  let pausedUntil = 0;
  let wakeAt = Infinity;
  let timer: NodeJS.Timeout | null = null;
  let whenIdle: (() => void)[] = [];

  const host: WriterHost = {
    wake: (writer) => wakeNoLaterThan(dueAt(writer)),
    account: room.account,
    room: room.wait,
    release(writer) {
      writers.delete(writer);
      room.account(writer, 0);
    },
  };
  const unlisten = cancelBus?.onCancelled((runId) => {
    for (const writer of writers) if (writer.identity.run.runId === runId) writer.cancel();
  });

  function dueAt(writer: FrameWriter): number {
    if (writer.retryAt > 0) return writer.retryAt;
    if (writer.isUrgent || writer.bytes >= limitMergedBytes) return 0;
    return writer.lastFlushAt + intervalMs;
  }

  function wakeNoLaterThan(due: number): void {
    if (isAppending || isClosed) return; // looks again when it is done
    const now = performance.now();
    const at = Math.max(due, now, now + pace.waitMs(now), pausedUntil);
    if (at >= wakeAt) return;

    if (timer) clearTimeout(timer);
    wakeAt = at;
    timer = setTimeout(() => void flush(), Math.max(0, at - now));
  }

  async function flush(): Promise<void> {
    wakeAt = Infinity;
    timer = null;
    isAppending = true;
    const now = performance.now();
    pace.spend(now);
    const due = collect(now);

    if (due.length > 0) await appendAll(due);

    isAppending = false;
    const next = Math.min(Infinity, ...[...writers].filter((writer) => writer.hasWork).map(dueAt));
    if (next < Infinity) wakeNoLaterThan(next);
    else for (const resolve of whenIdle.splice(0)) resolve();
  }

  /** Whoever has something takes part: it is the same commit. A run whose row was locked goes alone. */
  function collect(now: number): FrameWriter[] {
    const working = [...writers].filter((writer) => writer.hasWork && writer.retryAt <= now);
    const alone = working.find((writer) => writer.retryAt > 0);
    if (alone) return [alone];

    let bytes = 0;
    return working.filter((writer) => {
      if (bytes > limitAppendBytes) return false;
      bytes += writer.bytes;
      return true;
    });
  }

  async function appendAll(due: readonly FrameWriter[]): Promise<void> {
    const isAlone = due.length === 1 && (due[0]?.retryAt ?? 0) > 0;
    try {
      await append(due, isAlone ? lockWaitAloneMs : lockWaitMs);
      pauseMs = 0;
    } catch (error) {
      const fault = faultOf(error);
      if (fault === 'passing') {
        pauseMs = Math.min(Math.max(pauseMs * 2, 100), limitPauseMs);
        pausedUntil = performance.now() + pauseMs;
        log.warn({ err: error, pause_ms: pauseMs }, 'append failed');
      } else if (due.length > 1) for (const writer of due) await appendAlone(writer);
      else await refuse(due[0], fault, error);
    }
  }

  async function appendAlone(writer: FrameWriter): Promise<void> {
    try {
      await append([writer], lockWaitAloneMs);
    } catch (error) {
      await refuse(writer, faultOf(error), error);
    }
  }

  async function refuse(writer: FrameWriter | undefined, fault: 'lock' | 'passing' | 'lasting', error: unknown): Promise<void> {
    if (!writer || fault === 'passing') return;
    if (fault === 'lock') {
      writer.retryAt = performance.now() + lockRetryMs;
      return;
    }
    log.error({ err: error, run_id: writer.identity.run.runId, scope: writer.identity.scope }, 'frames refused');
    writer.kill(fail('internal_error', { detail: 'Frames were refused.', cause: error }));
  }

  async function append(due: readonly FrameWriter[], waitMs: number): Promise<void> {
    const at = new Date();
    const startedAt = performance.now();
    const sealed = due.map((writer) => writer.seal(at));
    const answers = await connection.append(sealed, waitMs);

    publisher.publish(appendedFrames(sealed, answers));
    counts.appends += 1;
    counts.frames += answers.reduce((sum, answer) => sum + framesOf(answer), 0);
    due.forEach((writer, index) => {
      const answer = answers[index];
      if (answer) writer.settle(answer, startedAt);
    });
  }

  return {
    counts,
    open(identity) {
      const writer = new FrameWriter(host, identity);
      writers.add(writer);
      return writer;
    },
    async close() {
      unlisten?.();
      const drained = new Promise<void>((resolve) => whenIdle.push(resolve));
      wakeNoLaterThan(0);
      await Promise.race([drained, new Promise<void>((resolve) => setTimeout(resolve, limitCloseMs).unref())]);
      isClosed = true;
      if (timer) clearTimeout(timer);
      await connection.close();
    },
  };
}

function framesOf(answer: RawAnswer): number {
  return answer.result === 'ok' && answer.first && answer.last ? answer.last - answer.first + 1 : 0;
}
