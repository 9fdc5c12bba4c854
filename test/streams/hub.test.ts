import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunIdentity } from '../../db/streams/frame-text.ts';
import { fullTest } from '../chaos/whole.ts';
import { note } from './frame-samples.ts';
import { numbersOf, openSse, range, type SseClient, type SseOptions } from './sse-client.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';
import { eventually, sleep } from './waiting.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void; // the flag puts it into every new context

let world: StreamWorld;
beforeAll(async () => {
  // What is looked up from time to time would be counted by whoever counts queries just then.
  const never = 86_400_000;
  world = await openStreamWorld({
    limits: { stallMs: 5_000, unsentBytes: 64 * 1024, headsMs: never, headsWithoutRedisMs: never, accessMs: never },
  });
});
afterAll(() => world.close());

fullTest('10000 frames in one burst reach every watcher once, in order', async () => {
  const run = await world.startRun();
  const clients = await Promise.all([open(run), open(run, { isReplay: false }), open(run)]);

  await burst(run, 10_000);
  await world.finish(run);
  await Promise.all(clients.map((client) => client.ended));

  expect(numbersOf(at(clients, 0))).toEqual(range(1, 10_003));
  expect(numbersOf(at(clients, 1))).toEqual(range(3, 10_003));
  expect(at(clients, 2).texts).toEqual(await world.archived(run));
});

test('a storm of reconnects at random places loses and doubles nothing, on as many Redis connections and two queries an open', async () => {
  const run = await world.startRun();
  await burst(run, 1_000);
  const opened = await storm(run, 30);
  world.queries.length = 0;
  const before = redisConnections();

  const again = await storm(run, 30);

  const openings = world.queries.filter((sql) => sql.includes('"firstFrame"'));
  const pages = world.queries.filter((sql) => sql.includes('array_to_json'));
  expect(openings).toHaveLength(30);
  expect(pages.length).toBeLessThanOrEqual(30);
  expect(redisConnections()).toBe(before);
  await burst(run, 200);
  await world.finish(run);
  await Promise.all([...opened, ...again].map(({ client }) => client.ended));
  for (const { client, after } of [...opened, ...again]) expect(numbersOf(client)).toEqual(range(after + 1, 1_203));
});

test('frames written while streams open arrive once', async () => {
  const run = await world.startRun();
  const writing = burst(run, 1_500, 60);
  const clients: SseClient[] = [];
  for (let n = 0; n < 20; n++) {
    clients.push(await open(run, n % 2 ? { isReplay: true } : { afterSeq: 2 }));
    await sleep(10);
  }
  await writing;
  await world.finish(run);

  await Promise.all(clients.map((client) => client.ended));
  clients.forEach((client, n) => expect(numbersOf(client)).toEqual(range(n % 2 ? 1 : 3, 1_503)));
});

test('in the steady state frames cost no query', async () => {
  const run = await world.startRun();
  const client = await open(run);
  await client.until(({ frames }) => frames.length === 2);
  world.queries.length = 0;

  const writer = world.emitter.open({ run, scope: 's1', attempt: 1 });
  for (let n = 0; n < 40; n++) {
    writer.frame(note(`n ${n}`));
    await client.until(({ frames }) => frames.length === 3 + n);
  }

  expect(world.queries).toEqual([]);
  client.destroy();
});

test('a stalled reader is closed and resumes completely; the others get everything meanwhile', async () => {
  const run = await world.startRun();
  const bearer = world.bearerOf(run);
  const [stalled, healthy] = await Promise.all([openSse(world.url, run.runId, { bearer }), open(run)]);
  await Promise.all([stalled, healthy].map((client) => client.until(({ frames }) => frames.length === 2)));
  stalled.pause();
  const heapBefore = heldBytes();

  await burst(run, 3_000, 100, 'x'.repeat(5_000));
  await healthy.until(({ frames }) => frames.length === 3_002);
  const held = heldBytes() - heapBefore;
  await eventually(() => world.hub.counts().streams === 1);
  stalled.resume();
  await stalled.ended;
  await world.finish(run);

  expect(held).toBeLessThan(150 * 1024 * 1024); // the healthy client of this test holds its frames as well
  expect(stalled.frames.length).toBeLessThan(3_002);
  const lastGot = Math.max(...numbersOf(stalled).map(Number));
  const resumed = await openSse(world.url, run.runId, { bearer, lastEventId: String(lastGot) });
  await resumed.ended;
  expect([...new Set([...numbersOf(stalled), ...numbersOf(resumed)])].filter((seq) => seq !== null)).toEqual(range(1, 3_003));
});

test('a lost publish is found by the next one', async () => {
  const run = await world.startRun();
  const client = await open(run);
  await client.until(({ frames }) => frames.length === 2);

  const { publisher } = world;
  const lost = publisher.publish;
  publisher.publish = () => undefined;
  await world.append(run, [note('lost')]);
  publisher.publish = lost;
  await world.append(run, [note('next')]);

  await client.until(({ frames }) => frames.length === 4);
  expect(numbersOf(client)).toEqual([1, 2, 3, 4]);
  client.destroy();
});

test('one query reads whatever a stream needs of up to 500 frames, wherever it begins', async () => {
  const run = await world.startRun();
  await burst(run, 700);
  world.hub.pages.tick(Infinity); // nothing is remembered
  world.queries.length = 0;

  const client = await open(run, { afterSeq: 250 });
  await client.until(({ frames }) => frames.at(-1)?.seq === 702);

  expect(world.queries.filter((sql) => sql.includes('"firstFrame"') || sql.includes('array_to_json'))).toHaveLength(2);
  expect(numbersOf(client)).toEqual(range(251, 702));
  client.destroy();
});

test('a page holds no more than 1 MiB and a chunk, however well its frames are stored; who reads on shares what follows', async () => {
  const run = await world.startRun();
  await burst(run, 200, 10, 'again and '.repeat(3_000));
  const archived = await world.archived(run);
  const readThrough = async () => {
    const texts: string[] = [];
    for (let at = 0; at < archived.length;) {
      const page = await world.hub.pages.read(run.runId, at + 1, archived.length);
      expect(page.frames.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(1.5 * 1024 * 1024);
      texts.push(...page.frames.map(({ text }) => text));
      at = page.coveredTo;
    }
    return texts;
  };
  world.hub.pages.tick(Infinity); // nothing is remembered
  world.queries.length = 0;

  const all = await Promise.all(range(1, 5).map(readThrough));

  for (const texts of all) expect(texts).toEqual(archived);
  expect(world.queries.filter((sql) => sql.includes('array_to_json')).length).toBeLessThan(10); // 6 MB, once
});

test('a stream that has grown old ends without a notice, to come back by itself', async () => {
  const other = await openStreamWorld({ limits: { maxAgeMs: 1_000 } });
  const run = await other.startRun();
  const client = await openSse(other.url, run.runId, { bearer: other.bearerOf(run) });

  await client.ended;

  expect([numbersOf(client), client.body().endsWith('\n\nretry: 2000\n\n')]).toEqual([[1, 2], true]);
  await other.close();
});

test('a process that stops tells every stream to come back and refuses new ones', async () => {
  const other = await openStreamWorld();
  const run = await other.startRun();
  const clients = await Promise.all(
    range(1, 50).map((n) => openSse(other.url, run.runId, { bearer: other.bearerOf(run), isReplay: n % 2 === 0 })),
  );

  await other.hub.drain();
  await Promise.all(clients.map((client) => client.ended));

  for (const client of clients) {
    expect(client.frames.at(-1)).toMatchObject({ seq: null, data: { code: 'service_unavailable', resume_after_seq: 2 } });
    expect(client.body()).toMatch(/retry: [1-5]\d{3}\n\n$/);
  }
  expect((await openSse(other.url, run.runId, { bearer: other.bearerOf(run) })).status).toBe(503);
  await other.close();
});

test('for how long the process was frozen itself, no reader has stalled', async () => {
  const other = await openStreamWorld({ limits: { stallMs: 10_000, unsentBytes: 64 * 1024 } });
  const run = await other.startRun();
  const client = await openSse(other.url, run.runId, { bearer: other.bearerOf(run) });
  await client.until(({ frames }) => frames.length === 2);
  client.pause();
  for (let n = 0; n < 30; n++)
    await other.append(
      run,
      range(1, 100).map(() => note('x'.repeat(5_000))),
    );
  await other.finish(run);
  await sleep(1_500); // its buffers fill up

  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 14_000);
  client.resume();
  await client.ended;

  expect(numbersOf(client)).toEqual(range(1, 3_003));
  await other.close();
});

/** What this process holds after a collection. */
function heldBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

interface Reconnect {
  readonly client: SseClient;
  readonly after: number;
}

async function storm(run: RunIdentity, clients: number): Promise<Reconnect[]> {
  return Promise.all(
    range(1, clients).map(async () => {
      const after = Math.floor(Math.random() * 1_000);
      return { after, client: await open(run, { lastEventId: String(after) }) };
    }),
  );
}

async function burst(run: RunIdentity, frames: number, perAppend = 500, text = 'frame'): Promise<void> {
  for (let left = frames; left > 0; left -= perAppend)
    await world.append(
      run,
      range(1, Math.min(left, perAppend)).map((n) => note(`${text} ${n}`)),
    );
}

function open(run: RunIdentity, options: Partial<SseOptions> = {}): Promise<SseClient> {
  return openSse(world.url, run.runId, { bearer: world.bearerOf(run), ...options });
}

/** Sockets of this process to Redis. */
function redisConnections(): number {
  const port = Number(new URL(world.redisUrl).port);
  const { libuv } = process.report.getReport() as unknown as { libuv: { type: string; remoteEndpoint?: { port: number } }[] }; // documented, but typed as object
  return libuv.filter((handle) => handle.type === 'tcp' && handle.remoteEndpoint?.port === port).length;
}

function at(clients: readonly SseClient[], index: number): SseClient {
  const client = clients[index];
  if (!client) throw new Error(`no client ${index}`);
  return client;
}
