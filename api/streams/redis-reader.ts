import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { StreamKeys } from '../../db/streams/keys.ts';
import { connectRedis } from '../../db/streams/redis.ts';
import type { RunChannel } from './run-channel.ts';

export interface ReaderDeps {
  readonly redisUrl: string;
  readonly keys: StreamKeys;
  /** The connection for everything but reading. */
  readonly commands: Redis;
  readonly readerId: string;
  readonly log: Logger;
}

const blockMs = 1_000;
const maxEntries = 512;
/** A command without an answer for this long ends the connection. */
const maxAnswerMs = 3_000;
const firstPauseMs = 100;
const maxPauseMs = 1_000;
const controlKeptMs = 3_600_000;

type Entry = [id: string, fields: string[]];
type Reply = [key: string, entries: Entry[]][] | null;

/** One blocking connection that reads the control stream and many runs. It re-sends nothing: after any error, it reconnects and reads on from the last seqs. */
export class RedisReader {
  readonly #deps: ReaderDeps;
  readonly #channels = new Map<string, RunChannel>();
  readonly #controlKey: string;
  readonly #loop: Promise<void>;
  #controlId = '0';
  #redis: Redis | null = null;
  #isUnavailable = false;
  #isClosed = false;
  #isWoken = false;

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
    this.#controlKey = deps.keys.control(deps.readerId);
    this.#loop = this.#run();
  }

  get size(): number {
    return this.#channels.size;
  }

  /** Whether Redis does not answer now. */
  get isUnavailable(): boolean {
    return this.#isUnavailable;
  }

  add(channel: RunChannel): void {
    this.#channels.set(this.#deps.keys.run(channel.runId), channel);
    this.#wake();
  }

  remove(channel: RunChannel): void {
    this.#channels.delete(this.#deps.keys.run(channel.runId));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#redis?.disconnect();
    await this.#loop;
    await this.#deps.commands.del(this.#controlKey).catch(() => undefined);
  }

  /** Ends the blocking read by an entry in the control stream, so that the next read includes the new runs. Otherwise they are included within a second. */
  #wake(): void {
    if (this.#isWoken || this.#deps.commands.status !== 'ready') return;
    this.#isWoken = true;
    const { commands } = this.#deps;
    commands.xadd(this.#controlKey, 'MAXLEN', '~', 100, '*', 'w', '1').catch(() => undefined);
    commands.pexpire(this.#controlKey, controlKeptMs).catch(() => undefined);
  }

  async #run(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!this.#isClosed) {
      const redis = connectRedis(this.#deps.redisUrl, 'blocking');
      this.#redis = redis;
      try {
        await withinLimit(redis.connect());
        while (!this.#isClosed) {
          const reply = await withinLimit(this.#read(redis));
          this.#isUnavailable = false;
          pauseMs = firstPauseMs;
          this.#dispatch(reply);
        }
      } catch (error) {
        if (!this.#isUnavailable && !this.#isClosed) this.#deps.log.warn({ err: error }, 'stream reader interrupted');
        this.#isUnavailable = true;
      } finally {
        redis.disconnect();
      }
      if (!this.#isClosed) await pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, maxPauseMs);
    }
  }

  #read(redis: Redis): Promise<Reply> {
    this.#isWoken = false;
    const channels = [...this.#channels];
    const names = [this.#controlKey, ...channels.map(([key]) => key)];
    const ids = [this.#controlId, ...channels.map(([, channel]) => `${channel.seen}-0`)];
    return redis.xread('COUNT', maxEntries, 'BLOCK', blockMs, 'STREAMS', ...names, ...ids);
  }

  #dispatch(reply: Reply): void {
    for (const [key, entries] of reply ?? []) {
      if (key === this.#controlKey) this.#controlId = entries.at(-1)?.[0] ?? this.#controlId;
      else this.#channels.get(key)?.receive(entries.map(([, fields]) => fields[1] ?? ''));
    }
  }
}

async function withinLimit<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    // This process may have been frozen while the answer was in its socket: `setImmediate` lets it be read first.
    timer = setTimeout(() => setImmediate(() => reject(new Error('Redis gave no answer in time'))), maxAnswerMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
