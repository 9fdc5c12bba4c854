import { Agent, request } from 'node:http';
import { Redis } from 'ioredis';
import { createEmitter } from '../../domain/streams/emitter.ts';
import { createPublisher } from '../../db/streams/publisher.ts';
import { connectRedis } from '../../db/streams/redis.ts';
import { pino } from 'pino';
import { makeAgent, startRun } from '../../test/support/scenario.ts';
import { testServices } from '../../test/support/services.ts';
import type { Stack } from '../../test/support/stack.ts';
import { most, type Bench, type BenchOptions, type Outcome, type Sample } from '../harness/bench.ts';
import { startChild } from '../harness/child.ts';
import { compare, finding } from '../harness/compare.ts';
import { authorization, startProduct, using } from '../harness/deployment.ts';
import { openFrameWriter } from '../harness/frame-writer.ts';
import { cpuMs, record } from '../probe/client.ts';

const clients = 2_000;
const frames = 1_500;
const inFlush = 30;
const padding = 'x'.repeat(200);
const maxMs = 60_000;

/** All clients of one run come back at once. */
export const storm: Bench = {
  name: 'storm',
  about:
    `${clients} clients of one run lose their connection and come back at once, each after another frame of ${frames}, until each has the last; against a bare Fastify server that reads the same frames from a Redis stream ` +
    'for each reader. The product checks credential, visibility and limits of each and reads pages of its archive once for all.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const { redisUrl } = testServices();
  const stack = keep(await startProduct(['api'], { env: { STREAMS_PER_PRINCIPAL: '20000' } }));
  const stream = `${stack.redisPrefix}bench-storm`;
  const redis = new Redis(redisUrl);
  keep({ stop: async () => redis.disconnect() });
  for (let n = 1; n <= frames; n++) await redis.xadd(stream, `${n}-0`, 'f', `{"type":"message.delta","delta":"${padding}"}`);
  const bare = keep(await startChild({ entry: 'bench/floors/replayer.ts', env: { REDIS_URL: redisUrl, BENCH_STREAM: stream } }));
  const run = await startRun(stack, (await makeAgent(stack, [])).id, 'Hello');
  const last = await writeFrames(stack, run.id);
  log(`${last} frames written`);

  const product = { url: `${stack.url()}/runs/${run.id}/stream`, headers: authorization(stack) };
  const measured = await compare({
    rounds: Math.ceil(rounds / 2),
    warmUps: 1,
    sides: {
      bare: () => comeBack(bare.pid, { url: `${String(bare.ready['url'])}/stream`, headers: {} }, frames),
      product: () => comeBack(stack.pid('api'), product, last),
    },
  });
  const statements = (await record(stack.pid('api'), () => comeBack(stack.pid('api'), product, last))).filter(
    ({ kind, text }) => kind === 'sql' && /^(select|with)/.test(text),
  );
  const compared = { floor: 'bare', product: 'product', budget: null } as const;
  return {
    findings: [
      finding(measured, { ...compared, what: 'until each has the last frame', unit: 'ms', metric: 'ms' }),
      finding(measured, { ...compared, what: 'processor a client', unit: 'ms', metric: 'cpuMsPerClient' }),
    ],
    checks: [{ what: 'selects an opening, credential included', value: statements.length / clients, budget: most(3) }],
  };
}

interface Place {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function comeBack(pid: number, place: Place, last: number): Promise<Sample> {
  const agent = new Agent({ keepAlive: false });
  const cpu = await cpuMs(pid);
  const startedAt = performance.now();
  const all = Array.from({ length: clients }, (_, n) => readUntil({ place, agent, after: Math.floor((n * last) / clients) }, last));
  await Promise.all(all);
  const ms = performance.now() - startedAt;
  const cpuMsPerClient = ((await cpuMs(pid)) - cpu) / clients;
  agent.destroy();
  return { ms, cpuMsPerClient };
}

/** One client: resolves when it has the frame of this number. */
function readUntil({ place, agent, after }: { place: Place; agent: Agent; after: number }, last: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { ...place.headers, 'last-event-id': String(after) };
    const outgoing = request(place.url, { headers, agent, timeout: maxMs }, (response) => {
      if (response.statusCode !== 200) return void reject(new Error(`${place.url} answered ${response.statusCode}`));
      response.setEncoding('latin1');
      response.on('error', () => undefined);
      let tail = '';
      response.on('data', (part: string) => {
        tail = (tail + part).slice(-part.length - 16);
        if (!tail.includes(`id: ${last}\n`)) return;
        response.destroy();
        resolve();
      });
    });
    outgoing.on('timeout', () => reject(new Error('a client had to wait too long')));
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** Frames of a run that goes on, as its worker would write them. Gives the last number. */
async function writeFrames(stack: Stack, runId: string): Promise<number> {
  const log = pino({ level: 'silent' });
  const redis = connectRedis(testServices().redisUrl, 'commands');
  const emitter = createEmitter({ db: stack.db, publisher: createPublisher({ redis, prefix: stack.redisPrefix, log }), log });
  const writer = openFrameWriter(emitter, stack, runId);
  let last = 0;
  while (last < frames) last = await writer.flush(Array.from({ length: inFlush }, () => padding));
  writer.close();
  await emitter.close();
  redis.disconnect();
  return last;
}
