import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Databases } from '../../db/databases.ts';
import { lostAccess } from '../../db/streams/access.ts';
import { streamHeads } from '../../db/streams/archive.ts';
import { type CancelBus, createCancelBus } from '../../db/streams/cancel-bus.ts';
import { streamKeys } from '../../db/streams/keys.ts';
import { connectRedis } from '../../db/streams/redis.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { type Admission, createStreamQuota, type Slot } from './admission.ts';
import { waitForChange } from './change-waiter.ts';
import type { OpenStream, StreamConnection, StreamHost } from './connection.ts';
import type { Held } from './held.ts';
import { defaultHubLimits, type HubLimits } from './limits.ts';
import { createOpenings, type Openings } from './openings.ts';
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

/** A run as the query that opened its stream saw it. */
export interface WatchedRun {
  readonly runId: string;
  readonly headSeq: number;
  readonly isEnded: boolean;
}

const tickMs = 1_000;
/** Frames on their way through Redis are not read from the archive: a head counts as missing only after this. */
const lagMs = 250;

export function createHub(deps: HubDeps): Hub {
  return new Hub(deps);
}

/** The readers of one API process: every watched run once, however many watch it. */
export class Hub implements StreamHost {
  readonly limits: HubLimits;
  readonly pages: PageCache;
  readonly openings: Openings;
  readonly now: () => Date;

  readonly #deps: HubDeps;
  readonly #commands: Redis;
  readonly #bus: CancelBus;
  readonly #admission: Admission;
  readonly #draining = new AbortController();
  readonly #channels = new Map<string, RunChannel>();
  readonly #readerOf = new Map<RunChannel, RedisReader>();
  readonly #readers: RedisReader[] = [];
  readonly #connections = new Set<StreamConnection>();
  readonly #held = new Set<Held>();
  readonly #timer: NodeJS.Timeout;
  #tickedAt = performance.now();
  #headsAt = 0;
  #accessAt = 0;
  #isReadingHeads = false;
  #isCheckingAccess = false;

  constructor(deps: HubDeps) {
    this.now = deps.db.clock.now;
    this.#deps = deps;
    this.limits = { ...defaultHubLimits, ...deps.limits };
    this.pages = createPageCache(deps.db);
    this.#admission = createStreamQuota(this.limits);
    this.openings = createOpenings(this.limits, this.draining);
    this.#commands = connectRedis(deps.redisUrl, 'commands');
    this.#bus = createCancelBus(deps);
    this.#bus.onRevoked((principals) => this.#checkNamed(new Set(principals)));
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Aborted by a drain, so that pure waits give up. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  counts(): { readonly streams: number; readonly held: number; readonly watchedRuns: number; readonly isRedisUnavailable: boolean } {
    return {
      streams: this.#connections.size,
      held: this.#held.size,
      watchedRuns: this.#channels.size,
      isRedisUnavailable: this.#isRedisUnavailable,
    };
  }

  /** Takes a place for a stream: 503 while draining, 429 above the limits of a principal or the process. */
  admit(principal: string): Slot {
    if (this.draining.aborted) throw fail('service_unavailable', { reason: 'draining', retryAfterS: 1 });
    return this.#admission.take(principal);
  }

  /** The channel of a run; `watch` it before anything else happens. Of an ended run nothing more comes: its channel is for one connection. */
  channel(run: WatchedRun): RunChannel {
    if (run.isEnded) return this.#newChannel(run);
    const known = this.#channels.get(run.runId);
    // The hub may be behind what the opening query saw: usually by frames on their way.
    if (known && known.handedOut < run.headSeq) later(lagMs, () => known.catchUp(run.headSeq));
    if (known) return known;

    const channel = this.#newChannel(run);
    this.#channels.set(run.runId, channel);
    this.#readerOf.set(channel, this.#readerWithRoom());
    return channel;
  }

  watch(channel: RunChannel, watcher: Watcher): void {
    channel.watchers.add(watcher);
    this.#readerOf.get(channel)?.add(channel);
  }

  unwatch(channel: RunChannel, watcher: Watcher): void {
    channel.watchers.delete(watcher);
    if (channel.watchers.size > 0) return;
    if (this.#channels.get(channel.runId) === channel) this.#channels.delete(channel.runId);
    this.#readerOf.get(channel)?.remove(channel);
    this.#readerOf.delete(channel);
  }

  /** Counts an open stream in: it is ticked, its access is checked, it is ended by a drain. */
  register(connection: StreamConnection): void {
    this.#connections.add(connection);
  }

  /** Looks at a right like at those of streams, until the function that this gives is called: `close` when it is lost. */
  hold(held: Held): () => void {
    this.#held.add(held);
    return () => void this.#held.delete(held);
  }

  /** Removes an ended stream and releases its slot. */
  leave(connection: StreamConnection, { channel, slot }: OpenStream): void {
    slot.release();
    this.#connections.delete(connection);
    this.unwatch(channel, connection);
  }

  /**
   * Waits until the run's state changed behind a number, at most `timeoutMs`; holds no database connection. True when it did or may have:
   * read the run again.
   */
  waitForChange(
    runId: string,
    wanted: { readonly afterSeq: number; readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<boolean> {
    return waitForChange(this, runId, wanted);
  }

  /** SIGTERM: no new streams; the open ones get a notice and end, to come back elsewhere. */
  async drain(): Promise<void> {
    this.#draining.abort();
    const failure = fail('service_unavailable', { reason: 'draining', detail: 'The process is shutting down. Try again.' });
    for (const connection of [...this.#connections]) connection.close(failure, 'draining');
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.drain();
    await Promise.all(this.#readers.map((reader) => reader.close()));
    await this.#bus.close();
    this.#commands.disconnect();
  }

  get #isRedisUnavailable(): boolean {
    return this.#readers.some((reader) => reader.isUnavailable);
  }

  #newChannel(run: WatchedRun): RunChannel {
    return new RunChannel({ db: this.#deps.db, limits: this.limits, log: this.#deps.log }, run);
  }

  #readerWithRoom(): RedisReader {
    const known = this.#readers.find((reader) => reader.size < this.limits.runsPerReader);
    if (known) return known;
    const { redisUrl, prefix, log } = this.#deps;
    const reader = new RedisReader({ redisUrl, keys: streamKeys(prefix), commands: this.#commands, readerId: randomUUID(), log });
    this.#readers.push(reader);
    return reader;
  }

  #tick(): void {
    const now = performance.now();
    const stoodStillMs = Math.max(0, now - this.#tickedAt - 2 * tickMs);
    this.#tickedAt = now;
    for (const connection of this.#connections) connection.tick(now, stoodStillMs);
    this.pages.tick(now);
    if (now - this.#headsAt >= (this.#isRedisUnavailable ? this.limits.headsWithoutRedisMs : this.limits.headsMs)) void this.#readHeads();
    if (now - this.#accessAt >= this.limits.accessMs) void this.#checkAccess(this.#everythingHeld());
  }

  /** One query for all watched runs: what Redis lost is read from the archive. */
  async #readHeads(): Promise<void> {
    if (this.#isReadingHeads || this.#channels.size === 0) return;
    this.#isReadingHeads = true;
    this.#headsAt = performance.now();
    try {
      const watched = [...this.#channels.values()];
      const graceMs = this.#isRedisUnavailable ? 0 : lagMs;
      const heads = await streamHeads(
        this.#deps.db,
        watched.map((channel) => channel.runId),
      );
      for (const channel of watched) {
        const head = heads.get(channel.runId);
        if (!head) channel.lose();
        else if (head.headSeq > channel.handedOut) later(graceMs, () => channel.catchUp(head.headSeq));
      }
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'stream heads could not be read');
    } finally {
      this.#isReadingHeads = false;
    }
  }

  /** One query for all; without the database, no stream is closed, and nothing new is shown either. */
  async #checkAccess(asked: readonly Held[]): Promise<void> {
    if (this.#isCheckingAccess || asked.length === 0) return;
    this.#isCheckingAccess = true;
    this.#accessAt = performance.now();
    try {
      const lost = await lostAccess(
        this.#deps.db,
        asked.map(({ holder }) => holder),
      );
      for (const [index, code] of lost) asked[index]?.close(fail(code));
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'access of open streams could not be checked');
    } finally {
      this.#isCheckingAccess = false;
    }
  }

  #everythingHeld(): Held[] {
    return [...this.#connections, ...this.#held];
  }

  /** A revocation: those it names are checked at once, and all within a second, in case a check was under way already. */
  #checkNamed(names: ReadonlySet<string>): void {
    const isAboutMany = [...names].some((name) => name.startsWith('organization:'));
    const concerned = this.#everythingHeld().filter(({ holder }) => isAboutMany || namesOf(holder).some((name) => names.has(name)));
    void this.#checkAccess(concerned).then(() => {
      this.#accessAt = Math.min(this.#accessAt, performance.now() - this.limits.accessMs + tickMs);
    });
  }
}

function namesOf(holder: Held['holder']): string[] {
  return [`${holder.kind}:${holder.principalId}`, `session:${holder.sessionId}`, `user:${holder.actingUserId}`];
}

function later(ms: number, work: () => void): void {
  setTimeout(work, ms).unref();
}
