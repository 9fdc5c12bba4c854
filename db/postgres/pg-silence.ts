import { Socket } from 'node:net';
import type pg from 'pg';

/** Lies between the server's own limit on a statement and ours on its answer, for the way back. */
const graceMs = 500;

/** What has been heard of a connection, and what is still owed on it. */
export interface Silence {
  /** Watches over the answer to what is sent now; to be called when it has come, or failed. */
  watch(client: pg.PoolClient): () => void;
  /** Whether a server that has fallen silent on another connection has said nothing on this one since. */
  isSuspect(client: pg.PoolClient): boolean;
}

/**
 * A server that stands still, or that no packet reaches any more, can't enforce its `statement_timeout`. So a connection that owes an answer and
 * gives no byte for that time and a little more is ended: its statements fail as lost, and the pool opens another. Whether what was sent
 * still takes effect nobody knows then, as with any lost connection: a transaction does only if its commit was sent.
 *
 * Connections that have been idle since before the one that fell silent are suspect: asking each of them would cost the same time again.
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

      // This process may have been frozen itself, and the answer lie in its socket: it is read before the check.
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

/** The package's types know no more of its socket than that it is a stream. */
function bytesReadOf(stream: pg.PoolClient['connection']['stream']): number {
  return stream instanceof Socket ? stream.bytesRead : 0;
}
