import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { testServices } from '../../test/support/services.ts';
import { testNamespace } from '../../test/support/temporal.ts';
import { floorKeys } from '../floors/keys.ts';
import { startChild } from './child.ts';

/** A bare worker with a namespace of its own. */
export interface FloorRuns {
  /** Starts this many workflows, some at once, and waits until all have ended. Gives milliseconds. */
  runMany(count: number, concurrency: number): Promise<number>;
  /** Milliseconds from the start to the arrival of the frame. */
  firstFrame(): Promise<number>;
  stop(): Promise<void>;
}

const pollMs = 10;

export async function startFloorRuns(): Promise<FloorRuns> {
  const place = await testNamespace();
  const prefix = `${place.namespace}:`;
  const { redisUrl } = testServices();
  const worker = await startChild({
    entry: 'bench/floors/worker.ts',
    env: { REDIS_URL: redisUrl, REDIS_PREFIX: prefix, TEMPORAL_ADDRESS: place.address, TEMPORAL_NAMESPACE: place.namespace },
  });
  const redis = new Redis(redisUrl);
  const keys = floorKeys(prefix);
  const start = (id: string) => place.temporal.client.workflow.start('floorRun', { workflowId: id, taskQueue: 'floor', args: [id] });
  let started = 0;

  return {
    async runMany(count, concurrency) {
      const startedAt = performance.now();
      await inLanes(count, concurrency, async () => void (await start(randomUUID())));
      started += count;
      while (Number(await redis.get(keys.finished)) < started) await delay(pollMs);
      return performance.now() - startedAt;
    },
    async firstFrame() {
      const id = randomUUID();
      const startedAt = performance.now();
      await start(id);
      started += 1;
      await redis.xread('BLOCK', 30_000, 'STREAMS', keys.frames(id), '0');
      const took = performance.now() - startedAt;
      while (Number(await redis.get(keys.finished)) < started) await delay(pollMs);
      return took;
    },
    async stop() {
      redis.disconnect();
      await worker.stop();
      await place.close();
    },
  };
}

/** Does something a number of times, some at once. */
export async function inLanes(count: number, concurrency: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) await work();
    }),
  );
}
