import type { Socket } from 'node:net';
import type { WebSocket } from '@fastify/websocket';
import { closeCodes, type CloseName } from './close-reasons.ts';
import type { Sink } from './connection.ts';
import { textBytesOf } from './stream-frame.ts';

/** A socket is destroyed this long after its close. */
const lingerMs = 5_000;
const maxUnanswered = 2;

/** A WebSocket as the wire of a connection: one message per frame, one write per wake-up. */
export class SocketSink implements Sink {
  readonly #socket: WebSocket;
  readonly #wire: Socket;
  readonly #pingMs: number;
  #pingedAt = performance.now();
  #unanswered = 0;

  constructor(socket: WebSocket, wire: Socket, pingMs: number) {
    this.#socket = socket;
    this.#wire = wire;
    this.#pingMs = pingMs;
    socket.on('pong', () => (this.#unanswered = 0));
  }

  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(...[frames]: Parameters<Sink['send']>): void {
    this.#wire.cork();
    for (const frame of frames) this.#socket.send(textBytesOf(frame), { binary: false });
    this.#wire.uncork();
  }

  notice(text: string): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(text);
  }

  heartbeat(now: number): boolean {
    if (now - this.#pingedAt < this.#pingMs) return true;
    if (this.#unanswered >= maxUnanswered) return false;
    this.#pingedAt = now;
    this.#unanswered += 1;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
    return true;
  }

  end(reason: CloseName): void {
    this.#socket.close(closeCodes[reason].code, reason);
    setTimeout(() => this.#socket.terminate(), lingerMs).unref();
  }

  destroy(): void {
    this.#socket.terminate();
  }
}
