import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { v7 } from 'uuid';
import { fail, type Failure } from '../../../workflows/contracts/failure.ts';
import type { Refusal } from '../access-log.ts';
import { peerOf } from '../credentials/client-address.ts';
import { toEnvelope } from './error-envelope.ts';
import { awaitContinue, linger } from '../input/unread-body.ts';

/** A socket of Node's HTTP server; `_httpMessage` is the answer whose turn it is, null between two. */
interface HttpSocket extends Socket {
  readonly _httpMessage?: ServerResponse | null;
}

/** What such refusals need to know and to tell. */
export interface ServerFaults {
  readonly publicUrl: string;
  readonly record: (refusal: Refusal) => void;
}

/** The answer to the last request that a connection brought, given or not. */
const lastAnswers = new WeakMap<Duplex, ServerResponse>();
/** Connections that end with the answers which they still owe. */
const ending = new WeakSet<Duplex>();

/**
 * What becomes of a connection on bytes that are no request; Fastify hands them to this instead of its own. Requests that came whole before them
 * are being carried out: each gets its own answer, the last of which closes. Only where none is owed, or where the bytes break a body, are
 * they refused themselves: a client that has all its answers would take one more for that to its next request.
 */
export function answerClientError(faults: ServerFaults) {
  return (error: Error & { code?: string }, socket: HttpSocket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // The parser complains again of whatever else arrives.
    if (ending.has(socket)) return;
    ending.add(socket);

    const last = socket._httpMessage ? lastAnswers.get(socket) : undefined;
    if (last?.req.complete) endWith(socket, last);
    else
      afterAnswers(socket, last, () =>
        refuse(socket, faults, { method: null, failure: fail('malformed_request', { detail: detailOf(error.code) }) }),
      );
  };
}

/** Answers with the envelope what Node would otherwise answer itself before a request reaches the router. */
export function answerServerFaults(server: Server, faults: ServerFaults): void {
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => lastAnswers.set(socket, response));
  server.on('connect', (request: IncomingMessage, socket: HttpSocket) => {
    const failure = fail('malformed_request', { detail: 'CONNECT is not supported.' });
    afterAnswers(socket, undefined, () => refuse(socket, faults, { method: request.method ?? null, failure }));
  });
  // Not Node's own 100: the body is asked for only when every check before it has passed.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    awaitContinue(request);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const { head, body, correlationId } = envelopeOf(faults, fail('malformed_request', { detail: 'The expectation cannot be met.' }));
    response.writeHead(400, head).end(body);
    faults.record({ correlationId, method: request.method ?? null, status: 400, address: peerOf(request.socket) });
  });
}

/** Lets the connection end with this answer, which says so unless its head has left. */
function endWith(socket: HttpSocket, last: ServerResponse): void {
  last.shouldKeepAlive = false;
  linger(socket);
  last.once('close', () => socket.destroySoon());
}

/** Waits until all preceding answers have been sent; without an answer, until none is pending. */
function afterAnswers(socket: HttpSocket, answer: ServerResponse | undefined, then: () => void): void {
  const inFlight = socket._httpMessage;
  if (!inFlight || inFlight === answer) then();
  else inFlight.once('close', () => afterAnswers(socket, answer, then));
}

/** Writes a refusal in place of the answer whose turn it is, unless that one has begun, and ends the connection. */
function refuse(socket: HttpSocket, faults: ServerFaults, { method, failure }: { method: string | null; failure: Failure }): void {
  if (!socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy();
    return;
  }
  const { head, body, correlationId } = envelopeOf(faults, failure);
  const lines = Object.entries(head)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  linger(socket);
  socket.write(`HTTP/1.1 400 Bad Request\r\n${lines}\r\n${body}`);
  socket.destroySoon();
  faults.record({ correlationId, method, status: 400, address: peerOf(socket) });
}

function envelopeOf({ publicUrl }: ServerFaults, failure: Failure): { head: Record<string, string>; body: string; correlationId: string } {
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
  return { head, body, correlationId };
}

function detailOf(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'The request headers are too large.';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive completely in time.';
  return 'The request is not valid HTTP/1.1.';
}
