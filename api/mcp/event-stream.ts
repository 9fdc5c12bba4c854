import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import { eventStreamHeaders, rawHeaders } from '../http/reply/headers.ts';

/** Messages to a client as server-sent events, on the response of its request. */
export interface EventStream {
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
  send(message: string): void;
  end(): void;
}

/** Proxies close connections that are silent for longer. */
const commentMs = 15_000;
/** The maximum number of unsent bytes before a client is disconnected; a single message may be larger. */
const maxUnsentBytes = 4 * 1024 * 1024;
/** How long an ended stream waits for a client that reads nothing. */
const lingerMs = 5_000;

/** Takes over the response and opens the stream; sends a comment every 15 s. */
export function openEventStream(http: { readonly request: FastifyRequest; readonly reply: FastifyReply }): EventStream {
  http.reply.hijack();
  const response = http.reply.raw;
  const gone = new AbortController();
  const heartbeat = setInterval(() => write(': still here\n\n'), commentMs);
  const stop = () => {
    clearInterval(heartbeat);
    gone.abort();
  };
  response.on('error', () => response.destroy());
  response.on('close', stop);
  if (response.destroyed) stop();
  response.writeHead(200, rawHeaders(http.request, eventStreamHeaders));
  // Some clients do not treat the headers alone as a response.
  write(': open\n\n');

  return {
    gone: gone.signal,
    send: (message) => write(`event: message\ndata: ${message}\n\n`),
    end() {
      clearInterval(heartbeat);
      if (response.destroyed || response.writableEnded) return;
      response.end();
      cutOffWhenStill(response);
    },
  };

  function write(chunk: string): void {
    if (response.destroyed || response.writableEnded) return;
    // Checked before the chunk is added: a large message is no reason to disconnect a client that reads.
    if (response.writableLength > maxUnsentBytes) response.destroy();
    else response.write(chunk);
  }
}

/** Sends the rest of an ended response, as long as its client reads any of it; else destroys it. */
function cutOffWhenStill(response: ServerResponse): void {
  let unsentBytes = response.writableLength;
  const timer = setInterval(() => {
    if (response.writableLength >= unsentBytes) response.destroy();
    unsentBytes = response.writableLength;
  }, lingerMs);
  timer.unref();
  response.on('close', () => clearInterval(timer));
}
