import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { createEmitter } from '../../domain/streams/emitter.ts';
import { createPublisher } from '../../db/streams/publisher.ts';
import { connectRedis } from '../../db/streams/redis.ts';
import { makeAgent, startRun } from '../../test/support/scenario.ts';
import { testServices } from '../../test/support/services.ts';
import type { Stack } from '../../test/support/stack.ts';
import { least, most, type Bench, type BenchOptions, type Finding, type Outcome, type Sample } from '../harness/bench.ts';
import { startChild, type Child } from '../harness/child.ts';
import { compare, finding, quantile } from '../harness/compare.ts';
import { startProduct, using } from '../harness/deployment.ts';
import { openFrameWriter } from '../harness/frame-writer.ts';
import { makeViewers } from '../harness/people.ts';
import { openReaders, type ReaderPlace } from '../harness/readers.ts';
import { cpuMs } from '../probe/client.ts';

/** Readers, and frames in a flush: few readers get more, or the process would be measured idle. */
const sizes = [
  { readers: 1, frames: 60 },
  { readers: 100, frames: 8 },
  { readers: 1_000, frames: 4 },
] as const;
const flushes = 24;
const flushMs = 60;
const streamsPerPrincipal = 50;
const padding = 'x'.repeat(300);

/** Frames on their way to many readers. */
export const delivery: Bench = {
  name: 'delivery',
  about:
    `One run’s frames (60, 8, 4 every ${flushMs} ms) to 1, 100 and 1000 readers on SSE, against a bare Fastify server that reads a Redis stream and writes each entry to every response. ` +
    'The product’s frames are committed to PostgreSQL first; its time is counted from that publish on. Frames a processor second are those delivered per second of the serving process’s processor.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const { redisUrl } = testServices();
  const stack = keep(await startProduct(['api']));
  const tokens = await makeViewers(stack, Math.max(...sizes.map(({ readers }) => readers)) / streamsPerPrincipal);
  const agent = await makeAgent(stack, []);
  const stream = `${stack.redisPrefix}bench-broadcast`;
  const bare = keep(await startChild({ entry: 'bench/floors/broadcaster.ts', env: { REDIS_URL: redisUrl, BENCH_STREAM: stream } }));
  const writing = new Redis(redisUrl);
  keep({ stop: async () => writing.disconnect() });
  const product = keep(productWriter(stack, redisUrl));

  const findings: Finding[] = [];
  for (const { readers, frames } of sizes) {
    const measured = await compare({
      rounds: readers === 1_000 ? Math.ceil(rounds / 2) : rounds,
      warmUps: 1,
      sides: {
        bare: () => deliverBare(bare, { readers, frames, add: (texts) => addAll(writing, stream, texts) }),
        product: async () => product.deliver((await startRun(stack, agent.id, 'Hello')).id, { readers, frames, tokens }),
      },
    });
    const of = { floor: 'bare', product: 'product' } as const;
    findings.push(
      finding(measured, {
        ...of,
        what: `${readers} readers, frames a processor second`,
        unit: '/s',
        metric: 'perCpuSecond',
        budget: least(0.6),
      }),
      finding(measured, { ...of, what: `${readers} readers, p99 lag`, unit: 'ms', metric: 'p99Ms', budget: most(3) }),
    );
    log(`${readers} readers measured`);
  }
  return { findings, checks: [] };
}

interface Delivery {
  readonly pid: number;
  readonly readers: number;
  /** In one flush. */
  readonly frames: number;
  readonly place: ReaderPlace;
  /** Sends what was made in this flush; a frame's time is in its text. */
  readonly flush: (texts: readonly string[]) => Promise<unknown>;
}

async function deliver({ pid, readers, frames, place, flush }: Delivery): Promise<Sample> {
  const open = await openReaders(readers, place);
  try {
    await delay(100);
    const before = await cpuMs(pid);
    for (let n = 0; n < flushes; n++) {
      await flush(Array.from({ length: frames }, () => padding));
      await delay(flushMs);
    }
    await open.until(flushes * frames);
    const cpuSeconds = ((await cpuMs(pid)) - before) / 1_000;
    return { perCpuSecond: (readers * flushes * frames) / cpuSeconds, p99Ms: quantile(open.lags, 0.99) };
  } finally {
    open.close();
  }
}

function deliverBare(
  bare: Child,
  { readers, frames, add }: { readers: number; frames: number; add: (texts: readonly string[]) => Promise<void> },
): Promise<Sample> {
  const place = { url: `${String(bare.ready['url'])}/stream`, headers: () => ({}) };
  return deliver({
    pid: bare.pid,
    readers,
    frames,
    place,
    flush: (texts) => add(texts.map((text) => `{"type":"message.delta","delta":"@${performance.now()}@${text}"}`)),
  });
}

async function addAll(redis: Redis, stream: string, frames: readonly string[]): Promise<void> {
  const pipeline = redis.pipeline();
  for (const frame of frames) pipeline.xadd(stream, 'MAXLEN', '~', '2000', '*', 'f', frame);
  await pipeline.exec();
}

interface ProductWriter {
  deliver(runId: string, to: { readers: number; frames: number; tokens: readonly string[] }): Promise<Sample>;
  stop(): Promise<void>;
}

/** Writes as a worker does: the archive first, then Redis. The mark gets its time when the frame is published, which is what readers wait for. */
function productWriter(stack: Stack, redisUrl: string): ProductWriter {
  const log = pino({ level: 'silent' });
  const redis = connectRedis(redisUrl, 'commands');
  const publisher = createPublisher({ redis, prefix: stack.redisPrefix, log });
  const stamped = {
    ...publisher,
    publish: (appended: Parameters<typeof publisher.publish>[0]) =>
      publisher.publish(appended.map((run) => ({ ...run, frames: run.frames.map(stamp) }))),
  };
  const emitter = createEmitter({ db: stack.db, publisher: stamped, log });

  return {
    async deliver(runId, { readers, frames, tokens }) {
      const write = openFrameWriter(emitter, stack, runId);
      const place = {
        url: `${stack.url()}/runs/${runId}/stream?replay=false`,
        headers: (n: number) => ({ authorization: `Bearer ${tokens[Math.floor(n / streamsPerPrincipal)]}` }),
      };
      try {
        return await deliver({
          pid: stack.pid('api'),
          readers,
          frames,
          place,
          flush: (texts) => write.flush(texts.map((text) => `${unstamped}${text}`)),
        });
      } finally {
        write.close();
      }
    },
    async stop() {
      await emitter.close();
      redis.disconnect();
    },
  };
}

const unstamped = '@time@';
const stamp = (frame: string) => frame.replace(unstamped, `@${performance.now()}@`);
