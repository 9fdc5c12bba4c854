import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import pino from 'pino';
import { RunChannel } from '../../api/streams/run-channel.ts';
import {
  appendedFrames,
  appendFramesNow,
  payloadOf,
  encryptBatch,
  toAnswer,
  type AppendAnswer,
  type FrameBatch,
  type RawAnswer,
  type EncryptedBatch,
} from '../../db/streams/append.ts';
import { parseFrame, type RunIdentity } from '../../db/streams/frame-text.ts';
import type { Frame, FrameDraft } from '../../db/streams/frame.schema.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { streamKeys } from '../../db/streams/keys.ts';
import type { Publisher } from '../../db/streams/publisher.ts';
import { rows } from '../../db/sql.ts';
import type { AppendedFrames, TenantTransaction } from '../../db/tenant-transaction.ts';
import { finished, note } from './frame-samples.ts';
import { SequencerModel, sequencerMoves, type Expected, type Move } from './sequencer-model.ts';
import { openSse, type SseClient } from './sse-client.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';
import { eventually, sleep } from './waiting.ts';

let world: StreamWorld;
let publish: Publisher['publish'];
const sealed = new WeakMap<FrameBatch, EncryptedBatch>();
beforeAll(async () => {
  world = await openStreamWorld({ limits: { headsMs: 500, streamsPerPrincipal: 1_000 } });
  // Nothing is published but what a move lets through.
  publish = world.publisher.publish;
  world.publisher.publish = () => undefined;
});
afterAll(() => world.close());

interface Reader {
  readonly client: SseClient;
  readonly after: number;
}

test('publishes reordered, repeated and lost, writers fenced and repeated, Redis emptied: every reader gets the archive, which is what the model says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sequencerMoves, { minLength: 3, maxLength: 3 }), fc.boolean(), async (scenarios, isEndTold) => {
      const played = await Promise.all(scenarios.map((moves) => play(moves, isEndTold)));

      for (const { readers, archive, written } of played) {
        expect(archive.map((text) => wordsOf(parseFrame(text)))).toEqual(written);
        for (const { client, after } of readers) expect(client.texts).toEqual(archive.slice(after));
      }
    }),
    { numRuns: 12 },
  );
});

/** One run through its moves to its end; the readers that are left have everything then. */
async function play(moves: readonly Move[], isEndTold: boolean): Promise<{ readers: Reader[]; archive: string[]; written: string[] }> {
  const run = await world.startRun();
  const model = new SequencerModel(run, ['run.status', 'run.started']);
  const underWay: AppendedFrames[] = [];
  const readers: Reader[] = [await open(run, 0, true)];

  for (const move of moves) await step({ run, model, underWay, readers }, move);
  const last = await write(run, null, [finished(model.end())]);
  if (isEndTold) publish(last);
  await Promise.all(readers.map(({ client }) => client.until(({ frames }) => frames.at(-1)?.type === 'run.finished', 60_000)));
  await Promise.all(readers.map(({ client }) => client.ended));

  const archive = await world.archived(run);
  expect(checkStream(archive.map(parseFrame), { runId: run.runId })).toEqual([]);
  return { readers, archive, written: model.written };
}

interface Played {
  readonly run: RunIdentity;
  readonly model: SequencerModel;
  readonly underWay: AppendedFrames[];
  readonly readers: Reader[];
}

async function step({ run, model, underWay, readers }: Played, move: Move): Promise<void> {
  const send = async (expected: Expected | null) => {
    if (expected) underWay.push(...(await write(run, expected, expected.batch.frames)));
  };
  switch (move.kind) {
    case 'append':
      return send(model.append(move.writer, move.frames));
    case 'again':
      return send(model.again(move.writer));
    case 'retry':
      return model.retry(move.writer);
    case 'late':
      return send(model.late(move.writer));
    case 'deliver':
      return void publish(move.isKept ? underWay.slice(move.pick % (underWay.length || 1)).slice(0, 1) : taken(underWay, move.pick));
    case 'lose':
      return void taken(underWay, move.pick);
    case 'flush':
      return void (await world.redis.del(streamKeys(world.prefix).run(run.runId)));
    case 'open': {
      const head = model.written.length;
      const after = move.pick % (head + 1);
      return void readers.push({ ...(await open(run, after, move.isReplay)), after: move.isReplay ? after : head });
    }
    case 'leave':
      // The first reader stays from the beginning to the end.
      if (readers.length > 1) readers.splice(1 + (move.pick % (readers.length - 1)), 1).forEach(({ client }) => client.destroy());
      return undefined;
    default:
      return move satisfies never;
  }
}

/** Appends a batch, holds the answer against the model's, and gives what would be published. */
function write(run: RunIdentity, expected: Expected | null, frames: readonly FrameDraft[]): Promise<AppendedFrames[]> {
  const batch = expected?.batch ?? { run, scope: null, attempt: 1, batch: 0, frames };
  return world.inTransaction(run, async (tx) => {
    const { answers, appended } = batch.scope === 's1' ? await appendSealed(tx, batch) : await appendAnew(tx, batch);
    if (expected) {
      const { result, firstSeq, lastSeq } = expected;
      expect(answers).toEqual([{ result, firstSeq, lastSeq, isCancelRequested: false }]);
    }
    return appended;
  });
}

async function appendAnew(tx: TenantTransaction, batch: FrameBatch): Promise<{ answers: AppendAnswer[]; appended: AppendedFrames[] }> {
  const answers = await appendFramesNow(tx, [batch]);
  return { answers, appended: [...tx.outgoing.frames] };
}

/** As the emitter does it: the texts are made once and sent byte for byte until they are answered. */
async function appendSealed(tx: TenantTransaction, batch: FrameBatch): Promise<{ answers: AppendAnswer[]; appended: AppendedFrames[] }> {
  const made = sealed.get(batch) ?? encryptBatch(batch, new Date());
  sealed.set(batch, made);
  const [row] = await rows<{ answers: RawAnswer[] }>(tx.em, 'select append_frames(?::jsonb, 5000) as answers', [payloadOf([made])]);
  const answers = row?.answers ?? [];
  return { answers: answers.map(toAnswer), appended: appendedFrames([made], answers) };
}

function taken<T>(from: T[], pick: number): T[] {
  return from.splice(pick % (from.length || 1), 1);
}

async function open(run: RunIdentity, after: number, isReplay: boolean): Promise<Reader> {
  return { client: await openSse(world.url, run.runId, { bearer: world.bearerOf(run), afterSeq: after, isReplay }), after };
}

/** What the model calls a frame. */
function wordsOf(frame: Frame): string {
  if (frame.type === 'error') return frame.data.message;
  return frame.type === 'run.status' && frame.data.retry ? `attempt ${frame.attempt}` : frame.type;
}

const channelMoves = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('append' as const), frames: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ kind: fc.constant('receive' as const), from: fc.nat(100), frames: fc.integer({ min: 1, max: 8 }) }),
    fc.record({ kind: fc.constant('head' as const) }),
    fc.record({ kind: fc.constant('pause' as const) }),
  ),
  { minLength: 5, maxLength: 40 },
);

test('a channel fed with any pieces of a stream, in any order and as often as one likes, hands out each frame once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(channelMoves, fc.nat(2), async (moves, joinedAt) => {
      const run = await world.startRun();
      const channel = new RunChannel(
        { db: world.database.db, limits: world.hub.limits, log: pino({ level: 'silent' }) },
        { runId: run.runId, headSeq: joinedAt, isEnded: false },
      );
      const handed: string[] = [];
      let cursor = joinedAt;
      channel.watchers.add({
        wake: () => {
          const frames = channel.ring.after(cursor, Infinity);
          handed.push(...frames.map((frame) => frame.text));
          cursor = frames.at(-1)?.seq ?? cursor;
        },
        lose: () => undefined,
      });

      let archive = await world.archived(run);
      for (const move of moves) {
        if (move.kind === 'append') {
          await world.append(
            run,
            Array.from({ length: move.frames }, (_, n) => note(`n ${archive.length + n}`)),
          );
          archive = await world.archived(run);
        } else if (move.kind === 'receive') channel.receive(archive.slice(move.from % archive.length).slice(0, move.frames));
        else if (move.kind === 'head') channel.catchUp(archive.length);
        else await sleep(1);
      }
      channel.catchUp(archive.length);
      await eventually(() => channel.handedOut === archive.length);

      expect(handed).toEqual(archive.slice(joinedAt));
    }),
    { numRuns: 60 },
  );
});
