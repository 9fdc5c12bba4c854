import { setTimeout as delay } from 'node:timers/promises';

export interface ReceivedFrame {
  readonly seq: number;
  readonly type: string;
  readonly text: string;
  readonly data: Record<string, unknown>;
}

export interface StreamReader {
  /** Frames in the order of their arrival, over all connections of this reader. */
  readonly frames: ReceivedFrame[];
  /** Resolves with them when run.finished has come. */
  readonly finished: Promise<ReceivedFrame[]>;
  readonly reconnects: () => number;
  stop(): void;
}

/**
 * Reads a run's event stream to its end over plain HTTP, like a browser does: after a broken connection it comes back with
 * `Last-Event-ID`. `urls` are tried in turn.
 */
export function readStream(urls: readonly string[], path: string, credential: string, lastEventId: string | null = null): StreamReader {
  const frames: ReceivedFrame[] = [];
  const controller = new AbortController();
  // When the end has come, not when its connection has been taken down.
  const { promise: finished, resolve, reject } = Promise.withResolvers<ReceivedFrame[]>();
  let connections = 0;
  let last = lastEventId;

  /** One connection; true when the run's end has come over it, or there is nothing more to come. */
  async function readOnce(url: string): Promise<boolean> {
    const headers: Record<string, string> = { authorization: `Bearer ${credential}`, accept: 'text/event-stream' };
    if (last !== null) headers['last-event-id'] = last;
    const answer = await fetch(url, { headers, signal: controller.signal });
    if (answer.status === 204) return true;
    if (answer.status !== 200 || !answer.body) throw new Error(`stream answered ${answer.status}`);

    for await (const event of events(answer.body)) {
      if (event.id === null) continue; // a heartbeat; a notice for this connection alone
      last = event.id;
      if (event.data === null) continue;
      frames.push(toFrame(event.data));
      if (!isEnd(frames.at(-1))) continue;
      resolve(frames);
      return true;
    }
    return false;
  }

  async function run(): Promise<ReceivedFrame[]> {
    for (;;) {
      const url = (urls[connections % urls.length] ?? '') + path;
      connections += 1;
      const isDone = await readOnce(url).catch(() => false);
      controller.signal.throwIfAborted();
      if (isDone) return frames;
      await delay(100);
    }
  }

  run().then(resolve, reject);
  finished.catch(() => undefined);
  return { frames, finished, reconnects: () => connections - 1, stop: () => controller.abort() };
}

/** A descendant's end stands in the stream too, as a copy. */
function isEnd(frame: ReceivedFrame | undefined): boolean {
  return frame?.type === 'run.finished' && !/^.{0,60}"origin_seq":/.test(frame.text);
}

/** Sequence numbers that are missing or come twice; empty for 1, 2, 3 … n. */
export function gapsOf(frames: readonly ReceivedFrame[]): string[] {
  return frames.flatMap((frame, index) => (frame.seq === index + 1 ? [] : [`position ${index + 1} holds ${frame.seq}`]));
}

interface ServerEvent {
  readonly id: string | null;
  readonly data: string | null;
}

/** The blocks of an event stream; comments and `retry` have neither id nor data. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const part of body) {
    pending += decoder.decode(part, { stream: true });
    for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
      yield toEvent(pending.slice(0, end));
      pending = pending.slice(end + 2);
    }
  }
}

function toEvent(block: string): ServerEvent {
  const lines = block.split('\n');
  const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
  return { id: field('id'), data: field('data') };
}

function toFrame(text: string): ReceivedFrame {
  const frame = JSON.parse(text) as { seq: number; type: string; data: Record<string, unknown> }; // the envelope is validated by the stream tests
  return { seq: frame.seq, type: frame.type, text, data: frame.data };
}
