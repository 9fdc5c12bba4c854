import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { AppendedFrames } from '../tenant-transaction.ts';
import { streamKeys } from './keys.ts';
import { publishLua } from './publish.lua.ts';

/**
 * Publishes frames that the archive already holds. Nothing waits for it and nothing fails with it: a publish that is refused, late or lost is dropped, and
 * readers notice the gap and read the archive.
 */
export interface Publisher {
  /** Sends one Redis command per run. */
  publish(appended: readonly AppendedFrames[]): void;
  /** Notifies the activities of these runs of a cancel. */
  notifyCancelled(runIds: readonly string[]): void;
  /** Erases what is cached of these runs; whatever is missed expires. */
  erase(runIds: readonly string[]): void;
  /** Like `erase`, but resolves when it is done. Rejects when Redis is unavailable or does not answer; the call may then be repeated. */
  eraseSurely(runIds: readonly string[]): Promise<void>;
  /** Notifies every API process to check these principals' open streams now (`user:<id>`, `session:<id>`, `service_key:<id>`). */
  notifyRevoked(principals: readonly string[]): void;
}

export interface PublisherDeps {
  /** A connection of role `commands`. */
  readonly redis: Redis;
  readonly prefix: string;
  readonly log: Logger;
}

/** Maximum bytes handed to a Redis that does not answer; above it, publishes are dropped at once. */
const maxUnansweredBytes = 16 * 1024 * 1024;
const warnEveryMs = 10_000;

type PublishCommand = (key: string, firstSeq: number, ...frames: readonly string[]) => Promise<number>;

export function createPublisher({ redis, prefix, log }: PublisherDeps): Publisher {
  const keys = streamKeys(prefix);
  redis.defineCommand('publishFrames', { numberOfKeys: 1, lua: publishLua });
  const publishFrames = (redis as unknown as { publishFrames: PublishCommand }).publishFrames.bind(redis); // defineCommand adds it at run time
  let unansweredBytes = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function send(bytes: number, command: () => Promise<unknown>): void {
    if (redis.status !== 'ready' || unansweredBytes + bytes > maxUnansweredBytes) return;
    unansweredBytes += bytes;
    command()
      .catch(warn)
      .finally(() => (unansweredBytes -= bytes));
  }

  function warn(error: unknown): void {
    if (performance.now() - warnedAt < warnEveryMs) return;
    warnedAt = performance.now();
    log.warn({ err: error }, 'publish dropped');
  }

  return {
    publish(appended) {
      for (const { runId, firstSeq, frames } of appended) {
        const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
        send(bytes, () => publishFrames(keys.run(runId), firstSeq, ...frames));
      }
    },
    notifyCancelled(runIds) {
      for (const runId of runIds) send(64, () => redis.publish(keys.cancelChannel, runId));
    },
    erase(runIds) {
      for (const runId of runIds) send(64, () => redis.del(keys.run(runId)));
    },
    async eraseSurely(runIds) {
      // One command per key: in a cluster the keys lie in different slots.
      await Promise.all(runIds.map((runId) => redis.unlink(keys.run(runId))));
    },
    notifyRevoked(principals) {
      if (principals.length > 0) send(64 * principals.length, () => redis.publish(keys.revokedChannel, principals.join(' ')));
    },
  };
}
