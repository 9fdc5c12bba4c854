import { setTimeout as delay } from 'node:timers/promises';
import { openEventStream, type EventStream } from './event-stream.ts';
import type { Http } from './exchange.ts';
import { notificationText, sendJson } from './json-rpc.ts';

/** Work whose answer may take long. */
export interface Awaited {
  readonly progressToken: string | number | null;
  /** Returns the answer as JSON and never throws; the signal is aborted when the client no longer waits. */
  readonly work: (signal: AbortSignal) => Promise<string>;
}

/** Clients and proxies give up on a silent request; after this time, the reply becomes a stream. */
const patienceMs = 10_000;
const progressMs = 2_000;

/** Answers short work with JSON, and work that reports progress or takes longer with an event stream. Disconnecting ends the wait, not the work. */
export async function answerWhenDone(http: Http, awaited: Awaited): Promise<void> {
  const left = new AbortController();
  const response = http.reply.raw;
  const leave = () => left.abort();
  response.on('close', leave);

  const working = awaited.work(left.signal);
  const soon = awaited.progressToken === null ? await within(working, patienceMs) : null;
  if (soon !== null) {
    response.off('close', leave);
    if (!response.destroyed) sendJson(http.reply, soon);
    return;
  }
  const stream = openEventStream(http);
  const stop = awaited.progressToken === null ? () => undefined : reportProgress(stream, awaited.progressToken);
  const answer = await working;
  stop();
  stream.send(answer);
  stream.end();
}

/** Returns the result, or null if it takes longer. */
async function within(working: Promise<string>, timeoutMs: number): Promise<string | null> {
  const over = new AbortController();
  try {
    return await Promise.race([working, delay(timeoutMs, null, { signal: over.signal, ref: false }).catch(() => null)]);
  } finally {
    over.abort();
  }
}

/** Reports elapsed seconds until the returned function is called: the real progress is unknown, but clients keep waiting as long as the number grows. */
function reportProgress(stream: EventStream, progressToken: string | number): () => void {
  const startedAt = performance.now();
  const tell = () => {
    const progress = Math.round((performance.now() - startedAt) / 1_000);
    stream.send(notificationText('notifications/progress', { progressToken, progress, message: `${progress} s` }));
  };
  tell();
  const timer = setInterval(tell, progressMs);
  stream.gone.addEventListener('abort', () => clearInterval(timer));
  return () => clearInterval(timer);
}
