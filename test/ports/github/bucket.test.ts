import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { connectRedis } from '../../../db/streams/redis.ts';
import { createHostBucket, type HostBucket } from '../../../ports/github/bucket.ts';
import { until } from '../../support/temporal.ts';
import { testServices } from '../../support/services.ts';

let redis: Redis;
const opened: HostBucket[] = [];

beforeAll(() => {
  redis = connectRedis(testServices().redisUrl, 'commands');
});
afterAll(() => {
  for (const bucket of opened) bucket.close();
  redis.disconnect();
});

/** A bucket whose connection stands: until then it counts in the process. */
async function open(prefix: string): Promise<HostBucket> {
  const bucket = createHostBucket({ redis, prefix });
  const probe = crypto.randomUUID();
  opened.push(bucket);
  await until(async () => {
    await bucket.take(probe, { points: 1, creations: 0 });
    return (await redis.exists(`${prefix}gh:points:${probe}`)) === 1;
  });
  return bucket;
}

const prefix = () => `test-${crypto.randomUUID()}:`;
const write = { points: 5, creations: 1 };

test('an installation makes 60 creations a minute, whichever process counts; others have their own', async () => {
  const shared = prefix();
  const [one, two] = [await open(shared), await open(shared)];
  for (let at = 0; at < 60; at += 1) await (at % 2 === 0 ? one : two).take('1:1', write);

  const refusal = await one.take('1:1', write).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ name: 'HostError', kind: 'limited', isRetryable: true });
  expect(Reflect.get(refusal as object, 'retryAfterMs')).toBeGreaterThan(0);
  await expect(two.take('1:2', write)).resolves.toBeUndefined();
  // What was refused has cost nothing.
  await expect(one.take('1:1', { points: 400, creations: 0 })).resolves.toBeUndefined();
  await expect(one.take('1:1', { points: 1, creations: 0 })).rejects.toMatchObject({ kind: 'limited' });
});

test('without Redis it counts in the process', async () => {
  const lost = connectRedis('redis://127.0.0.1:1', 'commands');
  const bucket = createHostBucket({ redis: lost, prefix: prefix() });
  for (let at = 0; at < 60; at += 1) await bucket.take('1:1', write);

  await expect(bucket.take('1:1', write)).rejects.toMatchObject({ kind: 'limited' });
  bucket.close();
  lost.disconnect();
});
