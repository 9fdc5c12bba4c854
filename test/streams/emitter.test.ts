import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { lockStreams, requestStreamCancel } from '../../db/streams/append.ts';
import type { FrameWriter } from '../../domain/streams/emitter.ts';
import { parseFrame, type RunIdentity } from '../../db/streams/frame-text.ts';
import type { Frame } from '../../db/streams/frame.schema.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { readOpenMessage, openMessages } from '../../db/streams/open-messages.ts';
import { completed, note, status } from './frame-samples.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';
import { eventually, sleep } from './waiting.ts';

let world: StreamWorld;
beforeAll(async () => {
  world = await openStreamWorld();
});
afterAll(() => world.close());

test('texts of one block merge; the first leaves at once, offsets have no gap, other frames keep their place', async () => {
  const run = await world.startRun();
  const writer = open(run);
  const message = newId();

  for (let n = 0; n < 100; n++) {
    text(writer, message, `word${n} `);
    if (n % 20 === 0) await sleep(15);
  }
  const words = Array.from({ length: 100 }, (_, n) => `word${n} `).join('');
  writer.frame(completed(message, words));
  await writer.flush();
  writer.close();
  await world.finish(run);

  const all = await frames(run);
  const deltas = all.flatMap((frame) => (frame.type === 'message.delta' ? [frame.data.delta] : []));
  expect(deltas[0]).toBe('word0 ');
  expect(deltas.join('')).toBe(words);
  expect(deltas.length).toBeLessThan(12);
  expect(checkStream(all, { runId: run.runId })).toEqual([]);
});

test('half a surrogate pair waits for its other half, and U+0000 is replaced', async () => {
  const run = await world.startRun();
  const writer = open(run);
  const message = newId();
  const [high, low] = ['🙂'.slice(0, 1), '🙂'.slice(1)];

  text(writer, message, `a${high}`);
  await writer.flush();
  text(writer, message, `${low}\0b`);
  await writer.flush();

  expect((await frames(run)).flatMap((frame) => (frame.type === 'message.delta' ? [[frame.data.offset, frame.data.delta]] : []))).toEqual([
    [0, 'a'],
    [1, '🙂\uFFFDb'],
  ]);
});

test('many runs share a commit: at most one in 50 ms, 50 frames and more in each at 1000 a second', async () => {
  const runs = await Promise.all(Array.from({ length: 60 }, () => world.startRun()));
  const writers = runs.map(open);
  const before = { ...world.emitter.counts };
  let commands = 0;
  const send = world.redis.sendCommand.bind(world.redis);
  world.redis.sendCommand = (...args) => ((commands += 1), send(...args));

  const startedAt = performance.now();
  while (performance.now() - startedAt < 1_500) {
    for (const writer of writers) text(writer, writer.identity.run.runId, 'token ');
    await sleep(10);
  }
  await Promise.all(writers.map((writer) => writer.flush()));

  world.redis.sendCommand = send;
  const commits = world.emitter.counts.appends - before.appends;
  const written = world.emitter.counts.frames - before.frames;
  expect(commits).toBeLessThanOrEqual((performance.now() - startedAt) / 50 + 4);
  expect(written / commits).toBeGreaterThanOrEqual(50);
  expect(commands).toBeLessThanOrEqual(written); // one a run and flush: each frame here is one run's share of a flush
});

test('a writer whose successor has begun is told so and adds nothing', async () => {
  const run = await world.startRun();
  const frozen = open(run);
  text(frozen, newId(), 'before ');
  await frozen.flush();
  const successor = world.emitter.open({ run, scope: 's1', attempt: 2 });
  text(successor, newId(), 'after ');
  await successor.flush();

  text(frozen, newId(), 'late ');
  const answer = await frozen.flush();

  expect([answer?.result, frozen.signal.aborted, frozen.signal.reason]).toEqual(['fenced', true, 'fenced']);
  const all = await frames(run);
  expect(JSON.stringify(all)).not.toContain('late');
  expect(all.find((frame) => frame.attempt === 2)).toMatchObject({ type: 'run.status', data: { retry: { cause: 'worker_lost' } } });
});

test('a cancel is heard with the next frames, which are still written', async () => {
  const run = await world.startRun();
  const writer = open(run);
  await world.inTransaction(run, (tx) => requestStreamCancel(tx, [run.runId]));

  text(writer, newId(), 'last words');
  await writer.flush();

  expect([writer.signal.aborted, writer.signal.reason]).toEqual([true, 'cancelled']);
  expect(JSON.stringify(await frames(run))).toContain('last words');
});

test('frames inside a transaction follow what was pending, also when it is run again', async () => {
  const run = await world.startRun();
  const writer = open(run);
  const message = newId();
  text(writer, message, 'Hello');
  const attempt = () =>
    world.inTransaction(run, async (tx) => {
      await writer.appendInside(tx, [completed(message, 'Hello')]);
      if (tries++ === 0) throw new Error('again');
    });
  let tries = 0;

  await expect(attempt()).rejects.toThrow('again');
  await attempt();
  await world.finish(run);

  expect(checkStream(await frames(run), { runId: run.runId })).toEqual([]);
});

test('a run whose stream is locked delays the others by a second at most and loses nothing', async () => {
  const [locked, free] = await Promise.all([world.startRun(), world.startRun()]);
  const writers = [locked, free].map(open);

  await world.inTransaction(locked, async (tx) => {
    await lockStreams(tx, [locked.runId]);
    for (const writer of writers) writer.frame(note('now'));
    await writers[1]?.flush();
    expect(await world.archived(free)).toHaveLength(3);
    writers[1]?.frame(note('and now'));
    await writers[1]?.flush();
  });

  await writers[0]?.flush();
  expect([(await world.archived(locked)).length, (await world.archived(free)).length]).toEqual([3, 4]);
});

test('connections that break under the appends lose no frame and double none', async () => {
  const run = await world.startRun();
  const writer = open(run);
  const message = newId();
  for (let round = 0; round < 6; round++) {
    for (let n = 0; n < 30; n++) {
      text(writer, message, `${round}.${n} `);
      if (n === 15)
        void world.admin(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'longhaul-emitter' and datname = current_database()`,
        );
      await sleep(3);
    }
  }
  await writer.flush();

  expect(checkStream(await frames(run), { runId: run.runId, isEnded: false })).toEqual([]);
  const [id] = await world.inTransaction(run, (tx) => openMessages(tx.em, run.runId));
  const open_ = await world.inTransaction(run, (tx) => readOpenMessage(tx.em, run.runId, id ?? ''));
  expect(open_?.blocks[0]?.text.match(/\d+\.\d+/g)).toHaveLength(180);
});

test('frames that can never be written end their own writer only', async () => {
  const [bad, good] = await Promise.all([world.startRun(), world.startRun()]);
  const writers = [bad, good].map(open);

  writers[0]?.frame(status({ discarded_message_ids: [] }));
  writers[0]?.delta({ messageId: 'no uuid', step: 1, index: 0, block: 'text', delta: 'x' });
  writers[1]?.frame(note('fine'));

  await expect(writers[0]?.flush()).rejects.toMatchObject({ code: 'internal_error' });
  await writers[1]?.flush();
  expect(writers[0]?.signal.aborted).toBe(true);
  expect(await world.archived(good)).toHaveLength(3);
});

test('the provider is read no further while too much waits, and goes on when there is room', async () => {
  const run = await world.startRun();
  const writer = open(run);
  let isPaused = true;

  await world.inTransaction(run, async (tx) => {
    await lockStreams(tx, [run.runId]);
    text(writer, newId(), 'x'.repeat(1_200_000));
    void writer.room().then(() => (isPaused = false));
    await sleep(100);
    expect(isPaused).toBe(true);
  });

  await eventually(() => !isPaused);
  await writer.flush();
  expect(checkStream(await frames(run), { runId: run.runId, isEnded: false })).toEqual([]);
});

function open(run: RunIdentity): FrameWriter {
  return world.emitter.open({ run, scope: 's1', attempt: 1 });
}

function text(writer: FrameWriter, messageId: string, delta: string): void {
  writer.delta({ messageId, step: 1, index: 0, block: 'text', delta });
}

async function frames(run: RunIdentity): Promise<Frame[]> {
  return (await world.archived(run)).map(parseFrame);
}
