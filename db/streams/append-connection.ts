import pg from 'pg';
import type { Databases } from '../databases.ts';
import { payloadOf, type RawAnswer, type EncryptedBatch } from './append.ts';

/** Why an append failed: a lock was not obtained in time, a transient fault (connection, restart, overload), or a batch that will never succeed. */
export type AppendFault = 'lock' | 'passing' | 'lasting';

export interface AppendConnection {
  /** One statement and one commit for all batches. */
  append(batches: readonly EncryptedBatch[], lockWaitMs: number): Promise<RawAnswer[]>;
  close(): Promise<void>;
}

/** A server that does not answer within this time costs the connection. */
const maxAnswerMs = 10_000;
const maxConnectMs = 3_000;
const passingClasses = ['08', '25', '40', '53', '57', '58'];

/**
 * One connection of the app's role outside the pool, for the emitter of a process: activities that hold the whole pool while they wait for a flush would
 * otherwise wait forever. It needs no tenant, because `append_frames` compares the workspace of each batch with the run's.
 */
export function createAppendConnection(db: Databases): AppendConnection {
  const url = db.app.config.get('clientUrl');
  let current: Promise<pg.Client> | null = null;

  function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'longhaul-emitter',
      connectionTimeoutMillis: maxConnectMs,
      query_timeout: maxAnswerMs,
      keepAlive: true,
    });
    const opened = client.connect().then(() => client);
    client.on('error', () => drop(opened));
    opened.catch(() => drop(opened));
    return opened;
  }

  function drop(lost: Promise<pg.Client>): void {
    if (current === lost) current = null;
    lost.then((client) => client.end()).catch(() => undefined);
  }

  return {
    async append(batches, lockWaitMs) {
      const opened = (current ??= connect());
      const client = await opened;
      try {
        const result = await client.query<{ answers: RawAnswer[] }>({
          name: 'append_frames',
          text: 'select append_frames($1::jsonb, $2) as answers',
          values: [payloadOf(batches), lockWaitMs],
        });
        return result.rows[0]?.answers ?? [];
      } catch (error) {
        if (faultOf(error) === 'passing') drop(opened);
        throw error;
      }
    },
    async close() {
      if (current) drop(current);
    },
  };
}

export function faultOf(error: unknown): AppendFault {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === '55P03') return 'lock';
  const isSqlState = /^[0-9A-Z]{5}$/.test(code);
  return !isSqlState || passingClasses.includes(code.slice(0, 2)) ? 'passing' : 'lasting';
}
