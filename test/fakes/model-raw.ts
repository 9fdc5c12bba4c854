import type { ServerResponse } from 'node:http';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

/** An answer byte for byte as some server sends it. */
export interface RawAnswer {
  readonly status?: number;
  readonly content_type?: string;
  readonly body: string;
  /** Bytes a write; the whole body at once unless given. */
  readonly write_bytes?: number;
  /** What becomes of the connection: closed well unless given. */
  readonly afterwards?: 'open' | 'reset' | 'late';
}

/** Writes it. With `open` the answer never ends; with `reset` the connection breaks once the other side can have read everything. */
export async function answerRaw(response: ServerResponse, raw: RawAnswer, requestId: string): Promise<void> {
  response.writeHead(raw.status ?? 200, { 'content-type': raw.content_type ?? 'text/event-stream', 'x-request-id': requestId });
  response.flushHeaders();
  const bytes = Buffer.from(raw.body, 'utf8');
  const size = raw.write_bytes ?? Math.max(1, bytes.length);
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    await turn();
  }
  await leave(response, raw.afterwards);
}

/** Ends an answer whose last byte was written. */
export async function leave(response: ServerResponse, afterwards: RawAnswer['afterwards']): Promise<void> {
  if (afterwards === 'late') await delay(10); // its end comes in a packet of its own
  if (afterwards === undefined || afterwards === 'late') response.end();
  if (afterwards !== 'reset') return;
  await delay(100); // a reset discards what the other side has not read yet
  response.socket?.resetAndDestroy();
}
