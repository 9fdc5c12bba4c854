import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The maximum size of an unwanted body that is read so that the connection stays open; a longer one ends the connection. */
const maxLeftoverBytes = 65_536;
/** How long a connection that ends stays half open: cut off at once, its client might never read the answer. */
const lingerMs = 1_000;

const awaitingContinue = new WeakSet<IncomingMessage>();

/** The client sends its body only after a `100 Continue`. */
export function awaitContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

/** Asks for the body that the client holds back. */
export function sendContinue(request: FastifyRequest, reply: FastifyReply): void {
  if (awaitingContinue.delete(request.raw)) reply.raw.writeContinue();
}

/**
 * With an answer to a request whose body has not come whole: a small rest is read and the connection lives on; with a long one, or one that
 * may never come, the answer says that the connection ends, and of the rest nothing more than a buffer is read.
 */
export function endUnreadBody(request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = request;
  if (raw.complete || reply.hasHeader('connection')) return;
  if (isShort(raw)) {
    raw.resume();
    return;
  }
  reply.header('connection', 'close');
  // Node reads an unconsumed body to its end; a listener for `readable` limits this to one buffer.
  raw.on('readable', () => undefined);
  linger(raw.socket);
}

function isShort(request: IncomingMessage): boolean {
  const { headers } = request;
  if (awaitingContinue.has(request) || headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= maxLeftoverBytes;
}

/** After the last answer, Node destroys the socket, which resets a connection with unread bytes; this closes it gracefully first. */
export function linger(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}
