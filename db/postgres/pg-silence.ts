import { Socket } from 'node:net';
import type pg from 'pg';

/** Added to the server's limit on a statement, to give its answer time to arrive. */
const graceMs = 500;

/** When each connection was last heard from, and which answers are outstanding. */
export interface Silence {
  /** Watches for the answer to what is sent now. Returns a function to call when the answer has arrived or failed. */
  watch(client: pg.PoolClient): () => void;
  /** Whether nothing has been heard on this connection since the server fell silent on another one. */
  isSuspect(client: pg.PoolClient): boolean;
}

/**
 * A server that is frozen or unreachable cannot enforce its `statement_timeout`. So a connection that owes an answer and sends no byte for that time and a
 * little more is closed: its statements fail as lost, and the pool opens another. As with any lost connection, it is unknown whether what was sent still
 * takes effect: a transaction does only if its commit was sent.
 *
 * Connections that have been idle since before another one fell silent are suspect: testing each of them would cost the same time again.
 */
export function createSilence(statementTimeoutMs: number | null): Silence {
  if (statementTimeoutMs === null) return { watch: () => () => undefined, isSuspect: () => false };
  const maxMs = statementTimeoutMs + graceMs;
  const heardAt = new WeakMap<pg.PoolClient, number>();
  let silentSince = -Infinity;

  return {
    watch(client) {
      const { stream } = client.connection;
      const sentAt = performance.now();
      let bytesRead = bytesReadOf(stream);
      let timer = setTimeout(late, maxMs);
      let isDone = false;

      // This process itself may have been frozen with the answer waiting in its socket, so the socket is read before the check.
      function late(): void {
        setImmediate(() => {
          if (isDone) return;
          if (bytesReadOf(stream) === bytesRead) {
            silentSince = Math.max(silentSince, sentAt);
            stream.destroy(new Error(`Connection terminated: no answer within ${maxMs} ms`));
            return;
          }
          bytesRead = bytesReadOf(stream);
          timer = setTimeout(late, maxMs);
        });
      }

      return () => {
        isDone = true;
        clearTimeout(timer);
        heardAt.set(client, performance.now());
      };
    },
    isSuspect: (client) => (heardAt.get(client) ?? Infinity) < silentSince,
  };
}

/** The package's types only declare its socket as a stream. */
function bytesReadOf(stream: pg.PoolClient['connection']['stream']): number {
  return stream instanceof Socket ? stream.bytesRead : 0;
}
