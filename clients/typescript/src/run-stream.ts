import { ApiError, ConnectionError, isEnvelope } from './errors.ts';
import type { Frame } from './generated/types.ts';
import { operationOf, outgoing } from './operation.ts';
import type { CallOptions } from './options.ts';
import type { Handlers, RunWork } from './run-work.ts';
import { EventParser } from './sse.ts';
import { delay, jitter, LinkedAbort } from './timing.ts';
import type { Transport } from './transport.ts';

/** The deployment sends something every 15 s. */
const silenceMs = 40_000;
const defaultPatienceMs = 300_000;

export interface StreamOptions extends Omit<CallOptions, 'ifMatch' | 'idempotencyKey' | 'deadlineMs'>, Handlers {
  /** How long the deployment may be away before the loop throws a ConnectionError; 300,000 ms unless given. */
  readonly patienceMs?: number;
}

/** What a stream needs of its client. */
export interface StreamParts {
  readonly transport: Transport;
  readonly runId: string;
  readonly after: number;
  readonly isLiveOnly: boolean;
  readonly options: StreamOptions;
  /** Answers questions and executes calls, where the caller gave functions for it. */
  readonly work: RunWork | null;
  /** Number of the run's last frame. */
  lastSeq(): Promise<number>;
}

interface Reading {
  last: number;
  /** Behind this number a hole was found, and has been asked for. */
  askedBehind: number;
  /** A hole stayed: the run is compacted, so there may be more. */
  isCompacted: boolean;
  failures: number;
  aliveAt: number;
  retryMs: number;
  /** Why the connection ended before its run; thrown when the deployment stays away. */
  fault: Error | null;
}

type Outcome = 'finished' | 'again' | 'at once';

/**
 * The frames of a run: each once and in order, over however many connections it takes. A loop over it ends after the run's own `run.finished`. Leaving the loop
 * cancels nothing; a second loop goes on behind `cursor`.
 */
export class RunStream implements AsyncIterable<Frame> {
  readonly #parts: StreamParts;
  #cursor: number;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#cursor = parts.after;
  }

  /** Number of the last frame whose turn of the loop is over. Stored, it lets another process go on: `after_seq` of `streamRun`, `after` of `run.frames`. */
  get cursor(): number {
    return this.#cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    const { options, work } = this.#parts;
    const reading: Reading = {
      last: await this.#start(),
      askedBehind: -1,
      isCompacted: false,
      failures: 0,
      aliveAt: performance.now(),
      retryMs: 250,
      fault: null,
    };
    const abort = new LinkedAbort(options.signal);
    work?.start(reading.last, abort);
    try {
      for (;;) {
        const outcome = yield* this.#connection(reading, abort);
        if (outcome === 'finished') return;
        if (performance.now() - reading.aliveAt > (options.patienceMs ?? defaultPatienceMs))
          throw reading.fault ?? new ConnectionError('the stream could not be opened again');
        if (outcome === 'again') await delay(Math.max(jitter(reading.failures, reading.retryMs), waitNamedBy(reading.fault)), abort.signal);
      }
    } catch (error) {
      // A function of the caller's that failed ends the connection, and is the cause.
      throw work?.failure ?? error;
    } finally {
      abort.release();
      abort.abort();
      work?.leave();
    }
  }

  async #start(): Promise<number> {
    if (!this.#parts.isLiveOnly || this.#cursor > 0) return this.#cursor;
    // By number, so that what is written between two connections is not lost.
    this.#cursor = await this.#parts.lastSeq();
    return this.#cursor;
  }

  async *#connection(reading: Reading, abort: LinkedAbort): AsyncGenerator<Frame, Outcome> {
    const own = new LinkedAbort(abort.signal);
    try {
      const reply = await this.#open(reading, own);
      if (reply.status === 204 || !reply.body) return 'finished';
      return yield* this.#frames(reply.body, { reading, own });
    } catch (error) {
      abort.signal.throwIfAborted();
      // A whole event that is no JSON would be none the next time either.
      if (error instanceof SyntaxError || (error instanceof ApiError && !error.retryable)) throw error;
      reading.failures += 1;
      reading.fault = error instanceof Error ? error : null;
      return 'again';
    } finally {
      own.release();
      own.abort();
    }
  }

  #open({ last }: Reading, own: LinkedAbort): Promise<Response> {
    const { transport, runId, options } = this.#parts;
    const headers: Record<string, string> = { ...options.headers, accept: 'text/event-stream' };
    if (last > 0) headers['last-event-id'] = String(last);
    const silence = setTimeout(() => own.abort(new ConnectionError('no reply')), silenceMs);
    const request = outgoing(operationOf('streamRun'), { run_id: runId }, { headers });
    return transport.open(request, own).finally(() => clearTimeout(silence));
  }

  async *#frames(
    body: ReadableStream<Uint8Array>,
    { reading, own }: { readonly reading: Reading; readonly own: LinkedAbort },
  ): AsyncGenerator<Frame, Outcome> {
    const parser = new EventParser();
    const reader = body.getReader();
    for (;;) {
      const bytes = await untilSilent(reader, own);
      if (!bytes) return 'again';
      reading.aliveAt = performance.now();
      const events = parser.push(bytes);
      if (parser.retryMs !== null) reading.retryMs = parser.retryMs;
      for (const { data } of events) {
        const frame = JSON.parse(data) as Frame; // of the protocol
        const { seq } = frame;
        if (seq === null) throw noticed(frame);
        if (seq <= reading.last) continue;
        if (isHole(seq, reading)) return 'at once';
        reading.last = seq;
        reading.failures = 0;
        reading.fault = null;
        this.#parts.work?.notice(frame);
        yield* this.#turn(frame);
        reading.aliveAt = performance.now();
        if (frame.type === 'run.finished' && frame.run_id === this.#parts.runId) return 'finished';
      }
    }
  }

  /** One turn of the caller's loop; it is over also when the loop is left. */
  *#turn(frame: Frame): Generator<Frame, void> {
    try {
      yield frame;
    } finally {
      this.#cursor = frame.seq ?? this.#cursor;
    }
  }
}

/** A frame is missing. It is asked for once: what is missing still has gone with the compaction of a run that ended long ago. */
function isHole(seq: number, reading: Reading): boolean {
  if (seq === reading.last + 1 || reading.isCompacted) return false;
  if (reading.askedBehind === reading.last) {
    reading.isCompacted = true;
    return false;
  }
  reading.askedBehind = reading.last;
  return true;
}

async function untilSilent(reader: ReadableStreamDefaultReader<Uint8Array>, own: LinkedAbort): Promise<Uint8Array | null> {
  const timer = setTimeout(() => own.abort(new ConnectionError(`the stream was silent for ${silenceMs} ms`)), silenceMs);
  try {
    const { done, value } = await reader.read();
    return done ? null : value;
  } finally {
    clearTimeout(timer);
  }
}

/** An error for this connection alone, before the deployment closes it. */
function noticed(frame: Frame): Error {
  const { problem, code }: { readonly problem?: unknown; readonly code?: string } = frame.type === 'error' ? frame.data : {};
  if (isEnvelope(problem)) return new ApiError(problem);
  return new ConnectionError(`the deployment ended the stream: ${code ?? 'unknown'}`);
}

function waitNamedBy(fault: Error | null): number {
  return fault instanceof ApiError ? (fault.retryAfterSeconds ?? 0) * 1_000 : 0;
}
