import type { Logger } from 'pino';
import type { Databases } from '../../../db/databases.ts';
import { sweep } from '../../../db/transaction.ts';
import { markSeen, type MarkedKind } from '../../../db/identity/people/marks.ts';

const intervalMs = 60_000;
const flushDelayMs = 1_000;

/** Writes `last_seen_at` and `last_used_at` outside of the request, at most once a minute per row. */
export interface UseRecorder {
  /** Records a use; `lastAt` is the value in the row, so that a use within the minute costs nothing. */
  record(kind: MarkedKind, id: string, lastAt: string | null): void;
  /** Writes what is pending. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function createUseRecorder({ db, log, now }: { db: Databases; log: Logger; now: () => Date }): UseRecorder {
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
      if (sessions.length > 0) await sweep(db, (em) => markSeen(em, 'session', sessions));
      if (keys.length > 0) await sweep(db, (em) => markSeen(em, 'service_key', keys));
      if (clients.length > 0) await sweep(db, (em) => markSeen(em, 'oauth_client', clients));
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
    record(kind, id, lastAt) {
      if (lastAt !== null && now().getTime() - Date.parse(lastAt) < intervalMs) return;
      pending[kind].add(id);
      // Unreferenced, so that a pending mark does not keep the process alive.
      timer ??= setTimeout(() => void flush(), flushDelayMs).unref();
    },
    flush,
    close: flush,
  };
}
