import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { newId } from '../../db/ids.ts';
import type { FrameWriter } from '../../domain/streams/emitter.ts';
import type { RunIdentity } from '../../db/streams/frame-text.ts';
import { openStreamWorld, type StreamWorld } from '../../test/streams/stream-world.ts';
import { least, most, type Bench, type BenchOptions, type Check, type Outcome, type Sample } from '../harness/bench.ts';
import { compare, finding } from '../harness/compare.ts';
import { using } from '../harness/deployment.ts';

const runCount = 100;
/** Enough that a sample lasts some tenths of a second. */
const framesPerRun = 600;
const warmUps = 2;
const drip = { seconds: 3, everyMs: 10 } as const;
const delta = 'some words of an answer that a model streams; ';

/** The way of frames: PostgreSQL first, then Redis. */
export const appends: Bench = {
  name: 'appends',
  about:
    `${runCount} runs write ${framesPerRun} message.delta frames each at once; until all are committed and in Redis, against pipelined XADD of the same texts to as many streams over one connection. ` +
    `The counts are of ${runCount} runs that get a piece of text every ${drip.everyMs} ms for ${drip.seconds} s.`,
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds }: BenchOptions, keep: Keep): Promise<Outcome> {
  const world = await openStreamWorld();
  keep({ stop: () => world.close() });
  const runs: RunIdentity[] = [];
  for (let n = 0; n < runCount; n++) runs.push(await world.startRun());
  const bare = new Redis(world.redisUrl);
  keep({ stop: async () => bare.disconnect() });
  const texts = await framesLike(world, runs);
  let scope = 0;

  const measured = await compare({
    rounds,
    warmUps,
    sides: { xadd: () => addBare(bare, `${world.prefix}bare`, texts), product: () => appendAll(world, runs, `s${++scope}`) },
  });
  const checks = await dripGates(world, runs, `s${++scope}`);
  return {
    findings: [
      finding(measured, {
        what: 'frames a second',
        unit: '/s',
        metric: 'perSecond',
        floor: 'xadd',
        product: 'product',
        budget: least(0.4),
      }),
    ],
    checks,
  };
}

/** Every piece becomes a frame, since neighbours belong to different blocks. */
function fill(writer: FrameWriter, frames: number): void {
  const messageId = newId();
  for (let at = 0; at < frames; at++) writer.delta({ messageId, step: 1, index: at, block: 'text', delta });
}

async function appendAll(world: StreamWorld, runs: readonly RunIdentity[], scope: string): Promise<Sample> {
  const writers = runs.map((run) => world.emitter.open({ run, scope, attempt: 1 }));
  const startedAt = performance.now();
  for (const writer of writers) fill(writer, framesPerRun);
  const answers = await Promise.all(writers.map((writer) => writer.flush()));
  await world.redis.ping(); // behind every publish
  const took = performance.now() - startedAt;

  for (const writer of writers) writer.close();
  const written = answers.filter((answer) => answer?.result === 'ok').length;
  if (written !== runs.length) throw new Error(`${runs.length - written} runs were not written`);
  return { perSecond: (runs.length * framesPerRun * 1_000) / took };
}

async function addBare(redis: Redis, prefix: string, texts: readonly string[]): Promise<Sample> {
  const startedAt = performance.now();
  const pipelines = Array.from({ length: runCount }, (_, run) => {
    const pipeline = redis.pipeline();
    for (const text of texts) pipeline.xadd(`${prefix}:${run}`, 'MAXLEN', '~', '2000', '*', 'f', text);
    return pipeline.exec();
  });
  await Promise.all(pipelines);
  return { perSecond: (runCount * texts.length * 1_000) / (performance.now() - startedAt) };
}

/** The texts that one run's frames have, to give the floor the same bytes. */
async function framesLike(world: StreamWorld, runs: readonly RunIdentity[]): Promise<string[]> {
  const run = runs[0] ?? (await world.startRun());
  const writer = world.emitter.open({ run, scope: 's9999', attempt: 1 });
  fill(writer, framesPerRun);
  await writer.flush();
  writer.close();
  return (await world.archived(run)).slice(-framesPerRun);
}

/** What the process does while many runs stream: how often it commits, and what it sends to Redis. */
async function dripGates(world: StreamWorld, runs: readonly RunIdentity[], scope: string): Promise<Check[]> {
  const writers = runs.map((run) => world.emitter.open({ run, scope, attempt: 1 }));
  const messageIds = runs.map(() => newId());
  const before = { ...world.emitter.counts };
  const count = countCommands(world.redis);
  const startedAt = performance.now();

  for (let now = startedAt; now - startedAt < drip.seconds * 1_000; now = performance.now()) {
    writers.forEach((writer, at) => writer.delta({ messageId: messageIds[at] ?? '', step: 1, index: 0, block: 'text', delta }));
    await delay(drip.everyMs);
  }
  await Promise.all(writers.map((writer) => writer.flush()));
  const seconds = (performance.now() - startedAt) / 1_000;
  for (const writer of writers) writer.close();

  const commits = world.emitter.counts.appends - before.appends;
  const frames = world.emitter.counts.frames - before.frames;
  return [
    { what: 'frames a second', value: Math.round(frames / seconds), budget: least(1_000) },
    { what: 'frames a commit', value: Math.round(frames / commits), budget: least(50) },
    { what: 'commits a second', value: commits / seconds, budget: most(20) },
    { what: 'Redis commands per run and commit', value: count() / (commits * runs.length), budget: most(1) },
  ];
}

function countCommands(redis: Redis): () => number {
  let count = 0;
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    count += 1;
    return send(command, stream);
  };
  return () => count;
}
