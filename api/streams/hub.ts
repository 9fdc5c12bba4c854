import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Databases } from '../../db/orm.ts';
import { lostAccess } from '../../db/streams/access.ts';
import { streamHeads } from '../../db/streams/archive.ts';
import { createCancelBus } from '../../db/streams/cancel-bus.ts';
import { streamKeys } from '../../db/streams/keys.ts';
import { connectRedis } from '../../db/streams/redis.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { createAdmission, type Slot } from './admission.ts';
import { waitForChange } from './change-waiter.ts';
import type { StreamConnection } from './connection.ts';
import { defaultHubLimits, type HubLimits } from './limits.ts';
import { createPageCache, type PageCache } from './page-cache.ts';
import { RedisReader } from './redis-reader.ts';
import { RunChannel, type Watcher } from './run-channel.ts';

export interface HubDeps {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly db: Databases;
  readonly log: Logger;
  readonly limits?: Partial<HubLimits>;
}

export interface WatchedRun {
  readonly runId: string;
  readonly headSeq: number;
  readonly isEnded: boolean;
}

/** The readers of one API process: every watched run once, however many watch it. */
export interface Hub {
  readonly limits: HubLimits;
  readonly pages: PageCache;
  /** Takes a place for a stream: 503 while draining, 429 above the limits of a principal or the process. */
  admit(principal: string): Slot;
  /** Aborted by a drain: whoever only waits gives up. */
  readonly draining: AbortSignal;
  /** The channel of a run as the opening query saw it; `watch` it before anything else happens. */
  channel(run: WatchedRun): RunChannel;
  watch(channel: RunChannel, watcher: Watcher): void;
  unwatch(channel: RunChannel, watcher: Watcher): void;
  /** Counts an open stream in: it is ticked, its access is checked, it is ended by a drain. */
  register(connection: StreamConnection): void;
  unregister(connection: StreamConnection): void;
  /**
   * Waits until the run's state changed behind a number, at most `timeoutMs`; holds no database connection. True when it did or may have:
   * read the run again.
   */
  waitForChange(runId: string, options: { readonly afterSeq: number; readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<boolean>;
  /** SIGTERM: no new streams; the open ones get a notice and end, to come back elsewhere. */
  drain(): Promise<void>;
  close(): Promise<void>;
  counts(): { readonly streams: number; readonly watchedRuns: number; readonly isRedisAway: boolean };
}

const tickMs = 1_000;
/** Frames on their way through Redis are not read from the archive: a head counts as missing only after this. */
const lagMs = 250;

export function createHub({ redisUrl, prefix, db, log, ...options }: HubDeps): Hub {
  const limits = { ...defaultHubLimits, ...options.limits };
  const keys = streamKeys(prefix);
  const commands = connectRedis(redisUrl, 'commands');
  const bus = createCancelBus({ redisUrl, prefix, log });
  const pages = createPageCache(db);
  const admission = createAdmission(limits);
  const channels = new Map<string, RunChannel>();
  const readers = new Map<RunChannel, RedisReader>();
  const connections = new Set<StreamConnection>();
  const draining = new AbortController();
  let pool: RedisReader[] = [];
  let headsAt = 0;
  let accessAt = 0;
  let isReadingHeads = false;
  let isCheckingAccess = false;

  function readerWithRoom(): RedisReader {
    const known = pool.find((reader) => reader.size < limits.runsPerReader);
    if (known) return known;
    const reader = new RedisReader({ redisUrl, keys, commands, readerId: randomUUID(), log });
    pool.push(reader);
    return reader;
  }

  function channelOf(run: WatchedRun): RunChannel {
    // Of an ended run nothing more comes: its channel belongs to this one connection.
    if (run.isEnded) return new RunChannel({ db, limits, log }, run);
    const known = channels.get(run.runId);
    // The hub may be behind what the opening query saw: usually by frames on their way.
    if (known && known.handedOut < run.headSeq) later(lagMs, () => known.catchUp(run.headSeq));
    if (known) return known;

    const channel = new RunChannel({ db, limits, log }, run);
    const reader = readerWithRoom();
    channels.set(run.runId, channel);
    readers.set(channel, reader);
    return channel;
  }

  function tick(): void {
    const now = performance.now();
    for (const connection of connections) connection.tick(now);
    pages.tick(now);
    const isAway = pool.some((reader) => reader.isAway);
    if (now - headsAt >= (isAway ? limits.headsWithoutRedisMs : limits.headsMs)) void readHeads(isAway);
    if (now - accessAt >= limits.accessMs) void checkAccess([...connections]);
  }

  async function readHeads(isAway: boolean): Promise<void> {
    if (isReadingHeads) return;
    isReadingHeads = true;
    headsAt = performance.now();
    try {
      const watched = [...channels.values()];
      if (watched.length === 0) return;
      const heads = await streamHeads(db, watched.map((channel) => channel.runId));
      for (const channel of watched) {
        const head = heads.get(channel.runId);
        if (!head) channel.lose();
        else if (head.headSeq > channel.handedOut) later(isAway ? 0 : lagMs, () => channel.catchUp(head.headSeq));
      }
    } catch (error) {
      log.warn({ err: error }, 'stream heads could not be read');
    } finally {
      isReadingHeads = false;
    }
  }

  /** One query for all; without the database nobody is put out, and nothing new is shown either. */
  async function checkAccess(asked: readonly StreamConnection[]): Promise<void> {
    if (isCheckingAccess || asked.length === 0) return;
    isCheckingAccess = true;
    accessAt = performance.now();
    try {
      const lost = await lostAccess(db, asked.map((connection) => connection.holder));
      for (const [index, code] of lost) asked[index]?.close(fail(code));
    } catch (error) {
      log.warn({ err: error }, 'access of open streams could not be checked');
    } finally {
      isCheckingAccess = false;
    }
  }

  const unlisten = bus.onRevoked((principals) => {
    const named = new Set(principals);
    const concerned = [...connections].filter(({ holder }) => namesOf(holder).some((name) => named.has(name)));
    void checkAccess(concerned).then(() => (accessAt = Math.min(accessAt, performance.now() - limits.accessMs + tickMs)));
  });
  const timer = setInterval(tick, tickMs);

  const hub: Hub = {
    limits,
    pages,
    draining: draining.signal,
    admit(principal) {
      if (draining.signal.aborted) throw fail('service_unavailable', { reason: 'draining', retryAfterS: 1 });
      return admission.take(principal);
    },
    channel: channelOf,
    watch(channel, watcher) {
      channel.watchers.add(watcher);
      readers.get(channel)?.add(channel);
    },
    unwatch(channel, watcher) {
      channel.watchers.delete(watcher);
      if (channel.watchers.size > 0) return;
      if (channels.get(channel.runId) === channel) channels.delete(channel.runId);
      readers.get(channel)?.remove(channel);
      readers.delete(channel);
    },
    register: (connection) => void connections.add(connection),
    unregister: (connection) => void connections.delete(connection),
    waitForChange: (runId, wanted) => waitForChange(hub, runId, wanted),
    async drain() {
      draining.abort();
      for (const connection of [...connections]) connection.close(fail('service_unavailable', { reason: 'draining', detail: 'The process stops; come back.' }), 'draining');
    },
    async close() {
      clearInterval(timer);
      unlisten();
      await hub.drain();
      await Promise.all(pool.map((reader) => reader.close()));
      pool = [];
      await bus.close();
      commands.disconnect();
    },
    counts: () => ({ streams: connections.size, watchedRuns: channels.size, isRedisAway: pool.some((reader) => reader.isAway) }),
  };
  return hub;
}

function namesOf(holder: StreamConnection['holder']): string[] {
  return [`${holder.kind}:${holder.principalId}`, `session:${holder.sessionId}`, `user:${holder.actingUserId}`, `run:${holder.runId}`];
}

function later(ms: number, work: () => void): void {
  setTimeout(work, ms).unref();
}
