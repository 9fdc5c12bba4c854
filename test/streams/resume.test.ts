import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newId } from '../../db/ids.ts';
import { appendFrames, stateBatch } from '../../db/streams/append.ts';
import { compactFrames } from '../../db/streams/compact-frames.ts';
import { parseFrame, type RunIdentity } from '../../db/streams/frame-text.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { mergeChunks } from '../../db/streams/merge-chunks.ts';
import { tendFrames } from '../../domain/streams/upkeep.ts';
import { sweep } from '../../db/transaction.ts';
import { completed, note, started } from './frame-samples.ts';
import { openSse, range } from './sse-client.ts';
import { moves, RunModel } from './stream-model.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';

let world: StreamWorld;
beforeAll(async () => {
  world = await openStreamWorld();
});
afterAll(() => world.close());

test('whatever is written by whatever attempts, the archive obeys the grammar and a resume anywhere gives the rest', async () => {
  await fc.assert(
    fc.asyncProperty(moves, fc.array(fc.nat(60), { minLength: 2, maxLength: 3 }), async (steps, places) => {
      const root = await world.startRun();
      const run = await world.makeRun(root);
      await play(run, steps);
      const all = await world.archived(run);

      expect(checkStream(all.map(parseFrame), { runId: run.runId })).toEqual([]);
      expect(checkStream((await world.archived(root)).map(parseFrame), { runId: root.runId, isEnded: false })).toEqual([]);
      for (const place of places.map((n) => n % (all.length + 1))) expect(await resumed(run, place)).toEqual(all.slice(place));
    }),
    { numRuns: 15 },
  );
});

test('merging chunks changes no byte, compaction drops what later frames repeat, and resuming works as before', async () => {
  const run = await world.makeRun();
  await play(run, ['text', 'text', 'retry', 'text', 'call', 'note', 'text', 'complete', 'note', 'call']);
  const before = await world.archived(run);

  await sweep(world.database.db, (em) => mergeChunks(em, run.runId));
  const [chunks] = await world.admin<{ count: number }>('select count(*)::integer as count from run_frame_chunks where run_id = $1', [
    run.runId,
  ]);
  expect([chunks?.count, await world.archived(run), await resumed(run, 4)]).toEqual([1, before, before.slice(4)]);

  const dropped = await sweep(world.database.db, (em) => compactFrames(em, run.runId));
  world.hub.pages.tick(Infinity); // forgets the pages read before
  const after = await world.archived(run);
  expect(after.length).toBe(before.length - dropped);
  expect(after).toEqual(before.filter((text) => after.includes(text)));
  expect(after.some((text) => text.includes('"message.delta"') || text.includes('"progress"'))).toBe(false);
  expect(checkStream(after.map(parseFrame), { runId: run.runId, isCompacted: true })).toEqual([]);
  for (const place of range(0, before.length - 1))
    expect(await resumed(run, place)).toEqual(after.filter((text) => (parseFrame(text).seq ?? 0) > place));
});

test('the upkeep walks ended runs once, in the order of their end, and compacts after 30 days', async () => {
  const [fresh, old] = [await world.makeRun(), await world.makeRun()];
  for (const run of [fresh, old]) await play(run, ['text', 'complete', 'text', 'complete']);
  await world.admin('update run_streams set updated_at = now()'); // those of the other tests are not due
  await world.admin(`update run_streams set updated_at = now() - interval '31 days' where run_id = $1`, [old.runId]);
  await world.admin(`update run_streams set updated_at = now() - interval '2 minutes' where run_id = $1`, [fresh.runId]);

  expect(await tendFrames(world.database.db)).toMatchObject({ compacted: 2, isDone: true });
  expect(await tendFrames(world.database.db)).toEqual({ merged: 0, compacted: 0, isDone: true });
  expect((await world.archived(fresh)).some((text) => text.includes('message.delta'))).toBe(true);
  expect((await world.archived(old)).some((text) => text.includes('message.delta'))).toBe(false);
});

test('a long archive with long frames is read whole, in bounded pages', async () => {
  const run = await world.startRun();
  const long = 'y'.repeat(250_000);
  for (const n of range(1, 60))
    await world.append(run, [completed(newId(), `${n} ${random(200_000)} ${long}`.slice(0, 240_000)), note(`${n}`)]);
  await world.finish(run);

  const all = await world.archived(run);
  expect(await resumed(run, 0)).toEqual(all);
  expect(await resumed(run, 61)).toEqual(all.slice(61));
});

test('a message above 256 KiB is cut in its frame, and the frame says where the rest is', async () => {
  const run = await world.startRun();
  const message = newId();
  await world.append(run, [completed(message, '🙂"\n'.repeat(90_000))]);

  const text = (await world.archived(run)).at(-1) ?? '';
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(256 * 1024);
  expect(parseFrame(text)).toMatchObject({ data: { truncated: true, ref: `/runs/${run.runId}/messages?message_id=${message}` } });
});

async function play(run: RunIdentity, steps: readonly Parameters<RunModel['step']>[0][]): Promise<void> {
  const model = new RunModel();
  await world.append(run, [started()]);
  for (const move of steps) await write(run, model, model.step(move));
  await write(run, model, model.close());
  await world.finish(run);
}

async function write(run: RunIdentity, model: RunModel, frames: Parameters<typeof stateBatch>[1]): Promise<void> {
  if (frames.length === 0) return;
  const batch = { ...stateBatch(run, frames), scope: 's1', attempt: model.attempt, batch: model.batch };
  // Every batch is sent twice: a repeat writes nothing.
  await world.inTransaction(run, (tx) => appendFrames(tx, [batch, batch]));
}

async function resumed(run: RunIdentity, place: number): Promise<readonly string[]> {
  const client = await openSse(world.url, run.runId, { bearer: world.bearerOf(run), afterSeq: place });
  await client.ended;
  return client.texts;
}

function random(length: number): string {
  return Array.from({ length: length / 10 }, () => Math.random().toString(36).slice(2, 12).padEnd(10, 'q')).join('');
}
