import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Services, startServices } from '../../cli/services/index.ts';
import type { RunIdentity } from '../../db/streams/frame-text.ts';
import { testServices } from '../support/services.ts';
import { note } from './frame-samples.ts';
import { numbersOf, openSse, range, type SseClient } from './sse-client.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';
import { openProxy, type TcpProxy } from './tcp-proxy.ts';
import { eventually } from './waiting.ts';

// A Redis of our own: it is flushed, filled up, restarted and cut off here.
const folder = mkdtempSync(join(tmpdir(), 'longhaul-streams-'));
let services: Services;
let proxy: TcpProxy;
let world: StreamWorld;
beforeAll(async () => {
  const { databaseUrl, temporalAddress } = testServices();
  services = await startServices({
    stateDir: folder,
    wheelsDir: join(import.meta.dirname, '../../.longhaul/wheels'),
    env: { ...process.env, DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress, REDIS_URL: '' },
    log: () => undefined,
    isEphemeral: true,
  });
  const target = new URL(services.redisUrl);
  proxy = await openProxy(Number(target.port));
  target.port = String(proxy.port);
  world = await openStreamWorld({ redisUrl: target.href });
});
afterAll(async () => {
  await world?.close();
  await proxy?.close();
  await services?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a flush in the middle and after the end changes no byte of a replay', async () => {
  const run = await world.startRun();
  const client = await open(run);
  await writeWhile(run, client, () => world.redis.flushall());
  await world.finish(run);
  await client.ended;

  await world.redis.flushall();
  const replay = await open(run);
  await replay.ended;
  expect(replay.texts).toEqual(client.texts);
  expect(numbersOf(replay)).toEqual(range(1, client.texts.length));
});

test('streams go on within 5 s of a restart of Redis, and open as ever while it is away', async () => {
  const run = await world.startRun();
  const client = await open(run);
  await writeWhile(run, client, () => services.restart('redis'));

  proxy.cut();
  await eventually(() => world.redis.status !== 'ready');
  await world.append(run, [note('while away')]);
  const opened = await open(run);
  await opened.until(({ frames }) => frames.length >= client.texts.length, 3_000);
  await client.until(({ texts }) => texts.at(-1)?.includes('while away') === true, 3_000);

  proxy.restore();
  await world.finish(run);
  await Promise.all([client.ended, opened.ended]);
  expect(opened.texts).toEqual(client.texts);
  await eventually(() => !world.hub.counts().isRedisUnavailable && world.redis.status === 'ready');
});

test('packets that vanish without a close cost seconds, no command hangs and no process ends', async () => {
  const run = await world.startRun();
  const client = await open(run);
  await client.until(({ frames }) => frames.length === 2);

  proxy.freeze();
  await world.append(run, [note('into the void')]);
  await client.until(({ frames }) => frames.length === 3, 6_000);
  await expect(world.redis.ping()).rejects.toThrow();

  proxy.restore();
  await eventually(() => world.redis.status === 'ready', 10_000);
  await world.append(run, [note('back')]);
  await client.until(({ frames }) => frames.length === 4, 5_000);
  client.destroy();
});

test('a full Redis stops publishes and nothing else', async () => {
  const run = await world.startRun();
  const client = await open(run);
  await client.until(({ frames }) => frames.length === 2);

  await world.redis.config('SET', 'maxmemory', '1');
  await world.append(
    run,
    range(1, 20).map((n) => note(`full ${n}`)),
  );
  await client.until(({ frames }) => frames.length === 22, 8_000);
  await world.redis.config('SET', 'maxmemory', '0');
  await world.finish(run);
  await client.ended;

  expect(client.texts).toEqual(await world.archived(run));
});

test('two deployments on one Redis never see each other’s frames', async () => {
  const other = await openStreamWorld({ redisUrl: world.redisUrl });
  const run = await world.startRun();
  const waiting = other.hub.waitForChange(run.runId, { afterSeq: 0, timeoutMs: 1_500 });

  await world.finish(run);

  expect(await waiting).toBe(true); // the other database knows no such run: it is lost, not heard of
  expect((await world.redis.keys('*')).filter((key) => key.startsWith(other.prefix) && key.includes(run.runId))).toEqual([]);
  await other.close();
});

function open(run: RunIdentity): Promise<SseClient> {
  return openSse(world.url, run.runId, { bearer: world.bearerOf(run) });
}

/** Writes 60 frames with a fault among them, and waits until the client has them all. */
async function writeWhile(run: RunIdentity, client: SseClient, fault: () => Promise<unknown>): Promise<void> {
  let faulted: Promise<unknown> = Promise.resolve();
  for (let n = 1; n <= 60; n++) {
    await world.append(run, [note(`n ${n}`)]);
    if (n === 30) faulted = fault();
  }
  await faulted;
  await client.until(({ frames }) => frames.length === 62, 8_000);
}
