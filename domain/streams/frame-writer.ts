import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import {
  appendFramesNow,
  encryptBatch,
  toAnswer,
  type AppendAnswer,
  type RawAnswer,
  type RetryNotice,
  type EncryptedBatch,
} from '../../db/streams/append.ts';
import type { RunIdentity } from '../../db/streams/frame-text.ts';
import type { FrameDraft } from '../../db/streams/frame.schema.ts';
import { PendingFrames, type CallOfDelta, type ReasoningDelta, type TextDelta } from './pending-frames.ts';

/** Identity of a writer: a run, its scope (`s<step>` or `c:<tool_call_id>`) and the attempt as counted in the row. */
export interface WriterIdentity {
  readonly run: RunIdentity;
  readonly scope: string;
  readonly attempt: number;
  readonly retry?: RetryNotice | null;
}

/** Why `signal` was aborted: the run is to be cancelled, another attempt has taken over, the run has ended, or its frames can't be written. */
export type WriterAbort = 'cancelled' | 'fenced' | 'ended' | Failure;

/** What a writer needs from the emitter of its process. */
export interface WriterHost {
  /** Frames are waiting; an `isUrgent` writer must not wait for the next interval. */
  wake(writer: FrameWriter): void;
  /** Called after each change of the bytes that wait. */
  account(writer: FrameWriter, bytes: number): void;
  /** Resolves when the buffer has room again; null while it has. */
  room(writer: FrameWriter): Promise<void> | null;
  release(writer: FrameWriter): void;
}

interface Waiter {
  readonly batch: number;
  readonly resolve: (answer: AppendAnswer) => void;
  readonly reject: (error: unknown) => void;
}

const maxFlushMs = 30_000;

/** Frames of one scope of one run: merged, split into batches, appended by the emitter of the process. Adding a frame never waits. */
export class FrameWriter {
  readonly identity: WriterIdentity;
  lastFlushAt = 0;
  /** Set while another transaction locks its run's row: the batch is sent alone, again at this time. */
  retryAt = 0;

  readonly #host: WriterHost;
  readonly #pending = new PendingFrames();
  readonly #abort = new AbortController();
  #batch = 0;
  #sealed: { readonly number: number; readonly batch: EncryptedBatch; readonly bytes: number } | null = null;
  #waiters: Waiter[] = [];
  #answer: AppendAnswer | null = null;
  #isDead = false;
  #isClosed = false;

  constructor(host: WriterHost, identity: WriterIdentity) {
    this.#host = host;
    this.identity = identity;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get isUrgent(): boolean {
    return this.#pending.isUrgent || this.#waiters.length > 0;
  }

  get bytes(): number {
    return this.#pending.bytes + (this.#sealed?.bytes ?? 0);
  }

  get hasWork(): boolean {
    return !this.#isDead && (this.#sealed !== null || !this.#pending.isEmpty);
  }

  delta(part: TextDelta): void {
    this.#add(() => this.#pending.delta(part));
  }

  reasoning(part: ReasoningDelta): void {
    this.#add(() => this.#pending.reasoning(part));
  }

  argsDelta(call: CallOfDelta, delta: string): void {
    this.#add(() => this.#pending.argsDelta(call, delta));
  }

  frame(draft: FrameDraft): void {
    this.#add(() => this.#pending.frame(draft));
  }

  /** For the provider's read loop: resolves at once unless too much waits for PostgreSQL; rejects with service_unavailable after 30 s of that. */
  async room(): Promise<void> {
    const room = this.#host.room(this);
    if (room) await room;
  }

  /** Resolves when all frames so far are committed; rejects with service_unavailable after 30 s. Null when nothing was ever written. */
  flush(): Promise<AppendAnswer | null> {
    if (!this.hasWork) return Promise.resolve(this.#answer);

    const batch = this.#pending.isEmpty ? this.#batch : this.#batch + 1;
    const flushed = new Promise<AppendAnswer>((resolve, reject) => {
      const timer = setTimeout(() => reject(fail('service_unavailable', { detail: 'Frames could not be written.' })), maxFlushMs);
      this.#waiters.push({
        batch,
        resolve: (answer) => (clearTimeout(timer), resolve(answer)),
        reject: (error) => (clearTimeout(timer), reject(error)),
      });
    });
    this.#host.wake(this);
    return flushed;
  }

  /**
   * Appends frames in a transaction of the caller, after everything this writer has written: pending frames are committed first. Safe when the transaction is
   * run again, since batch numbers only rise. The answer may be `fenced` or `ended`: then the transaction must not commit.
   */
  async appendInside(tx: TenantTransaction, frames: readonly FrameDraft[]): Promise<AppendAnswer> {
    const flushed = await this.flush();
    if (this.#isDead && flushed) return flushed;

    const [answer] = await appendFramesNow(tx, [{ ...this.identity, batch: ++this.#batch, frames }]);
    if (!answer) throw new Error('append_frames gave no answer');
    this.#hear(answer);
    return answer;
  }

  /** Ends the writer. Pending frames are still appended. */
  close(): void {
    this.#isClosed = true;
    if (!this.hasWork) this.#host.release(this);
    else this.#host.wake(this);
  }

  /** Notifies the writer of a cancel that was received elsewhere. Frames are still written: they are part of the run's result. */
  cancel(): void {
    this.#abort.abort('cancelled' satisfies WriterAbort);
  }

  /** The next batch to append; the same one, byte for byte, until it is answered. */
  seal(at: Date): EncryptedBatch {
    if (!this.#sealed) {
      const bytes = this.#pending.bytes;
      const batch = { ...this.identity, batch: ++this.#batch, frames: this.#pending.take() };
      this.#sealed = { number: batch.batch, batch: encryptBatch(batch, at), bytes };
    }
    return this.#sealed.batch;
  }

  settle(raw: RawAnswer, now: number): void {
    const number = this.#sealed?.number ?? this.#batch;
    this.#sealed = null;
    this.lastFlushAt = now;
    this.retryAt = 0;
    this.#hear(toAnswer(raw));
    this.#resolve(number);
    this.#host.account(this, this.bytes);
    if (this.#isClosed && !this.hasWork) this.#host.release(this);
  }

  /** Gives up: the writer's frames can't be written at all. */
  kill(failure: Failure): void {
    this.#abort.abort(failure satisfies WriterAbort);
    this.#die();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(failure);
    this.#host.release(this);
  }

  #hear(answer: AppendAnswer): void {
    this.#answer = answer;
    if (answer.result === 'fenced' || answer.result === 'ended') {
      this.#abort.abort(answer.result satisfies WriterAbort);
      this.#die();
    } else if (answer.isCancelRequested) this.cancel();
  }

  #die(): void {
    this.#isDead = true;
    this.#sealed = null;
    this.#pending.take();
    this.#host.account(this, 0);
  }

  #resolve(upTo: number): void {
    const answer = this.#answer;
    if (!answer) return;
    const due = this.#waiters.filter((waiter) => this.#isDead || waiter.batch <= upTo);
    this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter));
    for (const waiter of due) waiter.resolve(answer);
  }

  #add(write: () => void): void {
    if (this.#isDead || this.#isClosed) return;
    write();
    this.#host.account(this, this.bytes);
    this.#host.wake(this);
  }
}
