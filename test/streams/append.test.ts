import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { appendFramesNow, lockStreams, requestStreamCancel, stateBatch, type FrameBatch } from '../../db/streams/append.ts';
import { parseFrame, type RunIdentity } from '../../db/streams/frame-text.ts';
import type { Frame, FrameDraft } from '../../db/streams/frame.schema.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { completed, finished, note, result, status } from './frame-samples.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';

let world: StreamWorld;
beforeAll(async () => {
  world = await openStreamWorld();
});
afterAll(() => world.close());

test('frames are numbered without gap and archived as the exact bytes that are published', async () => {
  const run = await world.startRun();

  const answers = await append(run, { frames: [note('"quotes" \\ \u2028 🙂 \'; --'), note('$1 ?')] });

  expect(answers).toEqual([{ result: 'ok', firstSeq: 3, lastSeq: 4, isCancelRequested: false }]);
  const archived = await world.archived(run);
  expect(archived.map((text) => parseFrame(text).seq)).toEqual([1, 2, 3, 4]);
  expect(archived[2]?.startsWith('{"v":2,"seq":3,"type":"error","ts":')).toBe(true);
  expect(await published(run)).toEqual(archived);
});

test('a batch that comes again writes nothing and gives the numbers of then', async () => {
  const run = await world.startRun();
  const batch = { scope: 'c:1', attempt: 1, batch: 1, frames: [note('once')] };

  const [first] = await append(run, batch);
  const [again] = await append(run, batch);

  expect(again).toEqual({ ...first, result: 'repeat' });
  expect(await world.archived(run)).toHaveLength(3);
});

test('a writer whose successor has begun adds no frame', async () => {
  const run = await world.startRun();
  await append(run, { scope: 's1', attempt: 2, batch: 1, frames: [note('successor')] });

  const [late] = await append(run, { scope: 's1', attempt: 1, batch: 9, frames: [note('late')] });

  expect(late?.result).toBe('fenced');
  expect((await frames(run)).some((frame) => JSON.stringify(frame).includes('late'))).toBe(false);
});

test('a new attempt is announced once, before its first frame, and discards what the lost one left open', async () => {
  const run = await world.startRun();
  const [lost, whole, fresh] = [newId(), newId(), newId()];
  await append(run, { scope: 's1', attempt: 1, batch: 1, frames: [delta(lost, 'half', 0), delta(whole, 'all', 0)] });
  await append(run, { scope: 's1', attempt: 1, batch: 2, frames: [completed(whole, 'all')] });

  const retry = { cause: 'rate_limited', errorCode: '429', delayMs: 1000 } as const;
  await append(run, { scope: 's1', attempt: 2, batch: 1, frames: [delta(fresh, 'new', 0)], retry });
  await append(run, { scope: 's1', attempt: 2, batch: 2, frames: [completed(fresh, 'new')], retry });
  await world.finish(run);

  const all = await frames(run);
  const announcements = all.filter((frame) => frame.type === 'run.status' && frame.data.retry);
  expect(announcements).toHaveLength(1);
  expect(announcements[0]).toMatchObject({
    seq: 6,
    attempt: 2,
    data: { discarded_message_ids: [lost], retry: { cause: 'rate_limited', error_code: '429', delay_ms: 1000 } },
  });
  expect(checkStream(all, { runId: run.runId })).toEqual([]);
});

test('an attempt that begins after a cancel was asked for is announced as cancelling', async () => {
  const run = await world.startRun();
  await append(run, { scope: 's1', attempt: 1, batch: 1, frames: [note('before')] });
  await world.inTransaction(run, async (tx) => {
    await requestStreamCancel(tx, [run.runId]);
    await appendFramesNow(tx, [stateBatch(run, [status({ status: 'cancelling' })])]);
  });

  const [answer] = await append(run, { scope: 's1', attempt: 2, batch: 1, frames: [note('after')] });

  expect(answer).toMatchObject({ result: 'ok', isCancelRequested: true });
  expect((await frames(run)).at(-2)).toMatchObject({
    type: 'run.status',
    data: { status: 'cancelling', previous: 'cancelling', retry: { cause: 'worker_lost' } },
  });
  expect(checkStream(await frames(run), { runId: run.runId, isEnded: false })).toEqual([]);
});

test('nothing is written after the end', async () => {
  const run = await world.startRun();
  await world.finish(run);

  const answers = await append(run, { scope: 's1', attempt: 1, batch: 1, frames: [note('late')] });

  expect(answers[0]?.result).toBe('ended');
  expect((await frames(run)).at(-1)?.type).toBe('run.finished');
  expect(await world.admin('select from run_stream_scopes where run_id = $1', [run.runId])).toHaveLength(0);
});

test('a batch for a run of another workspace finds no run', async () => {
  const run = await world.startRun();
  const foreign = { ...run, workspaceId: newId() };

  const answers = await append(foreign, { frames: [note('foreign')] });

  expect(answers[0]?.result).toBe('ended');
  expect(await world.archived(run)).toHaveLength(2);
});

test('the root gets copies of all but advisory frames, with its own numbers, until it has ended', async () => {
  const root = await world.startRun();
  const child = await world.makeRun(root);
  const message = newId();
  await append(child, {
    scope: 's1',
    attempt: 1,
    batch: 1,
    frames: [note('kept'), delta(message, 'advisory', 0), completed(message, 'advisory')],
  });
  await world.finish(root);
  await append(child, { scope: 's1', attempt: 1, batch: 2, frames: [note('after the end of the root')] });

  const copies = (await frames(root)).filter((frame) => frame.run_id === child.runId);
  expect(copies.map(({ seq, origin_seq, type }) => ({ seq, origin_seq, type }))).toEqual([
    { seq: 3, origin_seq: 1, type: 'run.status' },
    { seq: 4, origin_seq: 2, type: 'error' },
    { seq: 5, origin_seq: 4, type: 'message.completed' },
  ]);
  expect(copies[0]).toMatchObject({ run_id: child.runId, parent_run_id: root.runId, root_run_id: root.runId, path: ['agent', 'agent'] });
});

test('parallel writers of one run and of its children make one sequence and never deadlock', async () => {
  const root = await world.startRun();
  const children = await Promise.all([world.makeRun(root), world.makeRun(root)]);
  const writers = [root, root, ...children, ...children];

  await Promise.all(
    writers.map(async (run, n) => {
      for (let batch = 1; batch <= 25; batch++)
        await append(run, { scope: `c:${n}`, attempt: 1, batch, frames: [result(`${n}`), note(`${n}/${batch}`)] });
    }),
  );

  for (const run of [root, ...children]) {
    const numbers = (await frames(run)).map((frame) => frame.seq);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  }
});

test('a transaction that locks a stream first knows the number of its last frame', async () => {
  const run = await world.startRun();

  await world.inTransaction(run, async (tx) => {
    const state = (await lockStreams(tx, [run.runId])).get(run.runId);
    const head = state?.headSeq ?? 0;
    await appendFramesNow(tx, [stateBatch(run, [note('last words'), finished(head + 2)])]);
  });

  expect(checkStream(await frames(run), { runId: run.runId })).toEqual([]);
});

test('what rolls back leaves no number behind', async () => {
  const run = await world.startRun();
  const refused = world.inTransaction(run, async (tx) => {
    await appendFramesNow(tx, [stateBatch(run, [note('never')])]);
    throw new Error('rolled back');
  });

  await expect(refused).rejects.toThrow('rolled back');
  await append(run, { frames: [note('third')] });
  expect((await frames(run)).map((frame) => frame.seq)).toEqual([1, 2, 3]);
});

test("the app may not write frames past the function, but for a run's first", async () => {
  const run = await world.startRun();
  const forge = (firstSeq: number, lastSeq: number, frames: string) =>
    world.inTransaction(run, (tx) =>
      tx.em.execute(
        'insert into run_frame_chunks (run_id, organization_id, workspace_id, first_seq, last_seq, frames) values (?, ?, ?, ?, ?, ?)',
        [run.runId, run.organizationId, run.workspaceId, firstSeq, lastSeq, frames],
      ),
    );

  await expect(forge(9, 9, '{"{}"}')).rejects.toThrow(/row-level security/);
  await expect(forge(1, 9, '{"{}"}')).rejects.toThrow(/row-level security/);
  await expect(forge(1, 1, '{"{}","{}"}')).rejects.toThrow(/row-level security/);
});

test('one call carries the runs of several tenants; a refused batch hinders no other', async () => {
  const [mine, theirs, ended] = await Promise.all([world.startRun(), world.startRun(), world.startRun()]);
  await world.finish(ended);

  const answers = await world.inTransaction(mine, (tx) =>
    appendFramesNow(
      tx,
      [mine, ended, theirs].map((run) => stateBatch(run, [status({ status: 'cancelling' })])),
    ),
  );

  expect(answers.map((answer) => answer.result)).toEqual(['ok', 'ended', 'ok']);
});

function append(run: RunIdentity, batch: Partial<FrameBatch>) {
  return world.inTransaction(run, async (tx) => {
    const answers = await appendFramesNow(tx, [{ run, scope: null, attempt: 1, batch: 0, frames: [], ...batch }]);
    world.publisher.publish(tx.outgoing.frames);
    return answers;
  });
}

async function frames(run: RunIdentity): Promise<Frame[]> {
  return (await world.archived(run)).map(parseFrame);
}

async function published(run: RunIdentity): Promise<string[]> {
  const keys = await world.redis.keys(`${world.prefix}*${run.runId}*`);
  const entries = await world.redis.xrange(keys[0] ?? '', '-', '+');
  return entries.map(([, fields]) => fields[1] ?? '');
}

function delta(messageId: string, text: string, offset: number): FrameDraft {
  return {
    type: 'message.delta',
    data: { message_id: messageId, role: 'assistant', step: 1, index: 0, block: 'text', delta: text, offset },
  };
}
