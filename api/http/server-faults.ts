import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { v7 } from 'uuid';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import { toEnvelope } from './error-envelope.ts';
import { awaitContinue } from './unread-body.ts';

/** A socket of Node's HTTP server; `_httpMessage` is the reply under way, which must not be cut in two. */
interface HttpSocket extends Duplex {
  readonly _httpMessage?: { readonly headersSent: boolean } | null;
}

/** The answer to bytes that are no request; Fastify hands them to this instead of its own. */
export function answerClientError(publicUrl: string) {
  return (error: Error & { code?: string }, socket: HttpSocket): void => {
    const isBroken = error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent === true;
    if (isBroken) {
      socket.destroy();
      return;
    }
    refuse(socket, publicUrl, fail('malformed_request', { detail: detailOf(error.code) }));
  };
}

/** Gives the envelope to what else Node would answer by itself, before a request reaches the router. */
export function answerServerFaults(server: Server, publicUrl: string): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    refuse(socket, publicUrl, fail('malformed_request', { detail: 'CONNECT is not served here.' }));
  });
  // Not Node's own 100: the body is asked for only when every check before it has passed.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    awaitContinue(request);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { head, body } = envelopeOf(publicUrl, fail('malformed_request', { detail: 'The expectation can not be met.' }));
    response.writeHead(400, head).end(body);
  });
}

function refuse(socket: Duplex, publicUrl: string, failure: Failure): void {
  const { head, body } = envelopeOf(publicUrl, failure);
  const lines = Object.entries(head)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines}\r\n${body}`);
}

function envelopeOf(publicUrl: string, failure: Failure): { head: Record<string, string>; body: string } {
  const correlationId = v7();
  const body = JSON.stringify(toEnvelope(failure, { publicUrl, correlationId }));
  const head = {
    'content-type': 'application/problem+json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-correlation-id': correlationId,
    'x-request-duration-ms': '0',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'connection': 'close',
  };
  return { head, body };
}

function detailOf(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'The request headers are too large.';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request was not complete in time.';
  return 'The request is not valid HTTP/1.1.';
}
