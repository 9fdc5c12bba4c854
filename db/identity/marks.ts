import type { Logger } from 'pino';
import type { Databases } from '../databases.ts';
import { change } from '../sql.ts';
import { sweep } from '../transaction.ts';

const intervalMs = 60_000;
const flushDelayMs = 1_000;

/** Writes `last_seen_at` and `last_used_at` outside the request, at most once a minute a row. */
export interface Marks {
  /** Notes a use; `lastAt` is what the row says, so that a use inside the minute costs nothing. */
  note(kind: 'session' | 'service_key' | 'oauth_client', id: string, lastAt: string | null): void;
  /** Writes what is pending. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function createMarks({ db, log, now }: { db: Databases; log: Logger; now: () => Date }): Marks {
  const pending = { session: new Set<string>(), service_key: new Set<string>(), oauth_client: new Set<string>() };
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  const write = async (): Promise<void> => {
    const sessions = [...pending.session];
    const keys = [...pending.service_key];
    const clients = [...pending.oauth_client];

    pending.session.clear();
    pending.service_key.clear();
    pending.oauth_client.clear();
    try {
      if (sessions.length > 0) await sweep(db, (em) => change(em, markSql('sessions', 'last_seen_at'), [sessions]));
      if (keys.length > 0) await sweep(db, (em) => change(em, markSql('service_keys', 'last_used_at'), [keys]));
      if (clients.length > 0) await sweep(db, (em) => change(em, markSql('oauth_clients', 'last_used_at'), [clients]));
    } catch (err) {
      log.warn({ err }, 'last-used marks not written');
    }
  };
  const flush = (): Promise<void> => {
    if (timer) clearTimeout(timer);
    timer = null;
    writing = writing.then(write);
    return writing;
  };

  return {
    note(kind, id, lastAt) {
      if (lastAt !== null && now().getTime() - Date.parse(lastAt) < intervalMs) return;
      pending[kind].add(id);
      // Unreferenced: a mark is no reason to keep a process alive.
      timer ??= setTimeout(() => void flush(), flushDelayMs).unref();
    },
    flush,
    close: flush,
  };
}

// The condition holds the promise of once a minute also between processes.
function markSql(table: 'sessions' | 'service_keys' | 'oauth_clients', column: 'last_seen_at' | 'last_used_at'): string {
  return `update ${table} set ${column} = now() where id = any (?::uuid[]) and (${column} is null or ${column} < now() - interval '60 seconds')`;
}
