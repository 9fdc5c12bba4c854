import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import type { RunIdentity } from '../../db/streams/frame-text.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { note, status } from './frame-samples.ts';
import { numbersOf, openSse, range, type SseOptions } from './sse-client.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';
import { eventually } from './waiting.ts';

let world: StreamWorld;
beforeAll(async () => {
  world = await openStreamWorld({ limits: { heartbeatMs: 1_500, streamsPerPrincipal: 10, accessMs: 1_000 } });
});
afterAll(() => world.close());

test('a stream gives the whole run from the start, then live, and ends with run.finished', async () => {
  const run = await world.startRun();
  const client = await open(run);
  await client.until(({ frames }) => frames.length === 2);

  await world.append(run, [note('live')]);
  await client.until(({ frames }) => frames.length === 3);
  await world.finish(run);
  await client.ended;

  expect(client.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
    'cache-control': 'no-store, no-transform',
  });
  expect(client.body().startsWith('retry: 2000\n\nid: 1\nevent: run.status\ndata: {"v":2,"seq":1,')).toBe(true);
  expect(client.events.find((event) => event.id === '3')?.event).toBe('run.error');
  expect(client.texts).toEqual(await world.archived(run));
  expect(checkStream(client.frames, { runId: run.runId })).toEqual([]);
});

test('the first bytes leave with the head', async () => {
  const run = await world.startRun();
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  const first = new Promise<string>((resolve) => socket.once('data', (packet) => resolve(String(packet))));
  const lines = [
    `GET /runs/${run.runId}/stream?after_seq=2 HTTP/1.1`,
    'host: longhaul.test',
    `authorization: Bearer ${world.bearerOf(run)}`,
  ];

  socket.write(`${lines.join('\r\n')}\r\n\r\n`);

  expect(await first).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]+\r\n\r\nd\r\nretry: 2000\n\n\r\n$/);
  socket.destroy();
});

test('every line of the table of openings holds', async () => {
  const live = await world.startRun();
  const ended = await world.startRun();
  await world.finish(ended);

  await expectRefusal(live, { afterSeq: 3 }, 422, { last_seq: 2 });
  await expectRefusal(ended, { afterSeq: 4, isReplay: false }, 422, { last_seq: 3 });
  await expectRefusal(live, { lastEventId: 'x' }, 422, { last_seq: 2 });
  await expectWhole(ended, { afterSeq: 1 }, [2, 3]);
  await expectWhole(ended, { lastEventId: '1', afterSeq: 3 }, [2, 3]);
  await expectEmpty(ended, { afterSeq: 3 });
  await expectEmpty(ended, { afterSeq: 1, isReplay: false });
  await expectEmpty(ended, { afterSeq: 3, isReplay: false });
  await expectEmpty(ended, { lastEventId: '1', isReplay: false });
  for (const isReplay of [true, false]) expect((await open(ended, { lastEventId: '3', isReplay })).status).toBe(204);
});

test('replay=false starts at the head whatever the cursor, and the same frames bear the same numbers', async () => {
  const run = await world.startRun();
  const [whole, live, late] = await Promise.all([
    open(run),
    open(run, { isReplay: false }),
    open(run, { isReplay: false, lastEventId: '1' }),
  ]);

  await world.append(run, [note('a'), note('b')]);
  await world.finish(run);
  await Promise.all([whole.ended, live.ended, late.ended]);

  expect(numbersOf(whole)).toEqual([1, 2, 3, 4, 5]);
  expect(live.texts).toEqual(whole.texts.slice(2));
  expect(late.texts).toEqual(live.texts);
});

test('a run that the caller may not see is a 404 before any stream header, and a waiting one opens', async () => {
  const run = await world.startRun();
  const stranger = world.bearerOf({ ...run, organizationId: newId(), workspaceId: newId() });
  const refused = await openSse(world.url, run.runId, { bearer: stranger });
  await refused.ended;
  expect(refused.status).toBe(404);
  expect(refused.headers['content-type']).toContain('application/problem+json');

  await world.append(run, [status({ status: 'waiting', waiting_on: 'timer', waiting_until: new Date().toISOString() })]);
  const client = await open(run);
  await client.until(({ frames }) => frames.length === 3);
  client.destroy();
});

test('a silent stream carries heartbeats without an id', async () => {
  const run = await world.startRun();
  const client = await open(run, { afterSeq: 2 });

  await client.until((sse) => sse.body().includes(': hb\n\n'));

  expect(client.events.every((event) => event.id === null)).toBe(true);
  client.destroy();
});

test('a principal has a bounded number of streams; one that leaves makes room', async () => {
  const run = await world.startRun();
  const bearer = world.bearerOf(run);
  const clients = await Promise.all(range(1, 10).map(() => openSse(world.url, run.runId, { bearer })));

  const refused = await openSse(world.url, run.runId, { bearer });
  await refused.ended;
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5']);
  expect(JSON.parse(refused.body())).toMatchObject({ code: 'rate_limited', context: { reason: 'streams_per_principal' } });

  clients[0]?.destroy();
  await eventually(async () => {
    const client = await openSse(world.url, run.runId, { bearer });
    client.destroy();
    return client.status === 200;
  });
  for (const client of clients) client.destroy();
});

test('abrupt disconnects leave no subscriber behind', async () => {
  const run = await world.startRun();
  const before = world.hub.counts().streams;
  const clients = await Promise.all(range(1, 100).map(() => open(run)));
  expect(world.hub.counts().streams).toBe(before + 100);

  for (const client of clients) client.destroy();

  await eventually(() => world.hub.counts().streams === before);
});

test('access lost meanwhile ends the stream with a notice', async () => {
  const run = await world.startRun();
  const client = await open(run, { bearer: world.bearerOf(run, { kind: 'user' }) }); // the check finds no such user

  await client.ended;

  const notice = client.frames.at(-1);
  expect(notice).toMatchObject({
    seq: null,
    type: 'error',
    run_id: run.runId,
    path: ['agent'],
    data: { code: 'credential_invalid', source: 'stream', fatal: false, resume_after_seq: 2, problem: {} },
  });
  expect(client.events.at(-1)).toMatchObject({ id: null, event: 'run.error' });
});

test('waiting for a change ends at the change, at the timeout, or when it was missed', async () => {
  const run = await world.startRun();
  const watchedBefore = world.hub.counts().watchedRuns;

  expect(await world.hub.waitForChange(run.runId, { afterSeq: 2, timeoutMs: 50 })).toBe(false);
  const waiting = world.hub.waitForChange(run.runId, { afterSeq: 2, timeoutMs: 5_000 });
  await world.append(run, [note('no change')]);
  await world.append(run, [status({ status: 'cancelling' })]);
  expect(await waiting).toBe(true);
  expect(await world.hub.waitForChange(run.runId, { afterSeq: 2, timeoutMs: 5_000 })).toBe(true);
  expect(world.hub.counts().watchedRuns).toBe(watchedBefore);
});

function open(run: RunIdentity, options: Partial<SseOptions> = {}) {
  return openSse(world.url, run.runId, { bearer: world.bearerOf(run), ...options });
}

async function expectRefusal(run: RunIdentity, options: Partial<SseOptions>, expected: number, context: object): Promise<void> {
  const client = await open(run, options);
  await client.ended;
  expect(client.status).toBe(expected);
  expect(JSON.parse(client.body())).toMatchObject({ code: 'cursor_invalid', context });
}

async function expectWhole(run: RunIdentity, options: Partial<SseOptions>, expected: number[]): Promise<void> {
  const client = await open(run, options);
  await client.ended;
  expect(numbersOf(client)).toEqual(expected);
}

async function expectEmpty(run: RunIdentity, options: Partial<SseOptions>): Promise<void> {
  const client = await open(run, options);
  await client.ended;
  expect([client.status, client.body()]).toEqual([200, 'retry: 2000\nid: 3\n\n']);
}
