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
import { createConnectQueue, type ConnectQueue } from './connect-queue.ts';
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

/** A run as the query of the stream connect saw it. */
export interface WatchedRun {
  readonly runId: string;
  readonly headSeq: number;
  readonly isEnded: boolean;
}

const tickMs = 1_000;
/** The delay after which a frame that Redis has not delivered counts as missing and is read from the archive. */
const lagMs = 250;

export function createHub(deps: HubDeps): Hub {
  return new Hub(deps);
}

/** The open streams of one API process. Each watched run is read once, however many watch it. */
export class Hub implements StreamHost {
  readonly limits: HubLimits;
  readonly pages: PageCache;
  readonly connectQueue: ConnectQueue;
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
    this.connectQueue = createConnectQueue(this.limits, this.draining);
    this.#commands = connectRedis(deps.redisUrl, 'commands');
    this.#bus = createCancelBus(deps);
    this.#bus.onRevoked((principals) => this.#checkNamed(new Set(principals)));
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Aborted by a drain, so that requests that only wait end. */
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

  /** Reserves a slot for a stream. Throws 503 while draining, 429 above the limits of the principal or the process. */
  takeSlot(principal: string): Slot {
    if (this.draining.aborted) throw fail('service_unavailable', { reason: 'draining', retryAfterS: 1 });
    return this.#admission.take(principal);
  }

  /** Returns the channel of a run; call `watch` before anything else happens. An ended run has no further frames: its channel is for one connection. */
  channel(run: WatchedRun): RunChannel {
    if (run.isEnded) return this.#newChannel(run);
    const known = this.#channels.get(run.runId);
    // The hub may be behind the query of the stream connect, usually by frames on their way through Redis.
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

  /** Adds an open stream: from now on the hub ticks it, checks its access and ends it in a drain. */
  register(connection: StreamConnection): void {
    this.#connections.add(connection);
  }

  /** Checks a right like those of streams and calls `close` when it is lost, until the returned function is called. */
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
   * Waits for a change of the run's state after `afterSeq`, at most `timeoutMs`, without a database connection. Returns true if the state has changed or may
   * have: read the run again.
   */
  waitForChange(
    runId: string,
    wanted: { readonly afterSeq: number; readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<boolean> {
    return waitForChange(this, runId, wanted);
  }

  /** On SIGTERM: accepts no new streams, and ends the open ones with a notice so that their clients reconnect elsewhere. */
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

  /** Reads the heads of all watched runs in one query; frames that Redis has lost are then read from the archive. */
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

  /** Checks all rights in one query. While the database is unavailable, no stream is closed, and none shows anything new. */
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

  /** Handles a revocation: checks those it names at once, and all within a second, in case a check was already running. */
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
