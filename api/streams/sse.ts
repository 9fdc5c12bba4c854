import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../db/caller.ts';
import { eventStreamHeaders, finishHeaders, rawHeaders } from '../http/reply/headers.ts';
import { keepForLog } from '../http/operation/request-state.ts';
import { startStream, type StreamConnect } from './attach.ts';
import type { CloseName } from './close-reasons.ts';
import type { Sink } from './connection.ts';
import { joinSse } from './frame-ring.ts';
import type { Hub } from './hub.ts';
import { eventName } from './stream-frame.ts';

export interface SseOptions {
  readonly hub: Hub;
  readonly caller: Caller;
  readonly publicUrl: string;
}

/** How long a browser waits before it reconnects, in ms. */
const retryMs = 2_000;
/** A response is destroyed this long after its end. */
const lingerMs = 5_000;

/** Sends an opened stream as server-sent events. A client that disconnects cancels no run. */
export function serveSse(
  http: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  connect: StreamConnect,
  { hub, caller, publicUrl }: SseOptions,
): void {
  const { request, reply } = http;
  if (connect.kind === 'nothing') {
    finishHeaders(request, reply);
    reply.code(204).send();
    return;
  }

  reply.hijack();
  const response = reply.raw;
  response.on('error', destroyThis);
  if (connect.kind !== 'stream') {
    // The client gets no event, but a browser that reconnects sends this id and gets its 204.
    response.writeHead(200, rawHeaders(request, eventStreamHeaders)).end(`retry: ${retryMs}\nid: ${connect.headSeq}\n\n`);
    return;
  }
  if (response.destroyed) {
    connect.slot.release();
    return;
  }

  begin(request, response);
  keepForLog(request);
  const sink = new SseSink(response, hub.limits.heartbeatMs);
  const connection = startStream(hub, connect, { sink, caller, answer: { publicUrl, correlationId: request.id } });
  response.on('drain', () => connection.drained());
  response.on('close', () => connection.gone());
}

/** Sends headers and first bytes in one packet. Node keeps the headers as long as the stream is open: flushed separately they are one string, else dozens. */
function begin(request: FastifyRequest, response: FastifyReply['raw']): void {
  response.cork();
  try {
    response.writeHead(200, rawHeaders(request, eventStreamHeaders));
    response.flushHeaders();
    response.write(`retry: ${retryMs}\n\n`);
  } finally {
    response.uncork();
  }
}

function destroyThis(this: FastifyReply['raw']): void {
  this.destroy();
}

class SseSink implements Sink {
  readonly #response: FastifyReply['raw'];
  readonly #heartbeatMs: number;
  #wroteAt = performance.now();

  constructor(response: FastifyReply['raw'], heartbeatMs: number) {
    this.#response = response;
    this.#heartbeatMs = heartbeatMs;
  }

  get unsentBytes(): number {
    return this.#response.writableLength;
  }

  send(...[frames, channel]: Parameters<Sink['send']>): void {
    this.#write(frames.length > 1 ? channel.ring.joinedSse(frames) : joinSse(frames));
  }

  notice(text: string): void {
    this.#write(`event: ${eventName('error')}\ndata: ${text}\n\n`);
  }

  heartbeat(now: number): boolean {
    if (this.#response.destroyed) return false;
    if (now - this.#wroteAt >= this.#heartbeatMs && this.unsentBytes === 0) this.#write(': hb\n\n');
    return true;
  }

  end(reason: CloseName): void {
    if (reason === 'draining') this.#write(`retry: ${1_000 + Math.floor(Math.random() * 4_000)}\n\n`);
    if (reason === 'max_age') this.#write(`retry: ${retryMs}\n\n`);
    this.#response.end();
    setTimeout(() => this.#response.destroy(), lingerMs).unref();
  }

  destroy(): void {
    this.#response.destroy();
  }

  #write(chunk: string | Buffer): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    this.#wroteAt = performance.now();
    this.#response.write(chunk);
  }
}
