import { setTimeout as delay } from 'node:timers/promises';
import { makeAgent, startRun } from '../../test/support/scenario.ts';
import { testServices } from '../../test/support/services.ts';
import { Redis } from 'ioredis';
import { most, type Bench, type BenchOptions, type Check, type Outcome, type Sample } from '../harness/bench.ts';
import { startChild } from '../harness/child.ts';
import { compare, finding } from '../harness/compare.ts';
import { authorization, startProduct, using } from '../harness/deployment.ts';
import { openReaders, type ReaderPlace } from '../harness/readers.ts';
import { cpuMs, memoryBytes } from '../probe/client.ts';

const streams = 9_500;
const watchedRuns = 95;
const idleMs = 6_000;

/** Many streams on which nothing happens. */
export const idle: Bench = {
  name: 'idle',
  about:
    `${streams} open event streams (one process may have 10,000 and 20,000 descriptors are allowed here) on ${watchedRuns} runs that wait for a worker, against as many open responses of the bare broadcaster. ` +
    `Memory is what the serving process has in use after a collection, heap and buffers, by stream; processor is that of ${idleMs / 1_000} s of silence, checks of access and heads included.`,
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds }: BenchOptions, keep: Keep): Promise<Outcome> {
  const { redisUrl } = testServices();
  const stack = keep(await startProduct(['api'], { env: { STREAMS_PER_PRINCIPAL: '20000', STREAMS_PER_PROCESS: '20000' } }));
  const agent = await makeAgent(stack, []);
  const runIds: string[] = [];
  while (runIds.length < watchedRuns) runIds.push((await startRun(stack, agent.id, 'Hello')).id);
  const bare = keep(
    await startChild({
      entry: 'bench/floors/broadcaster.ts',
      env: { REDIS_URL: redisUrl, BENCH_STREAM: `${stack.redisPrefix}bench-idle` },
    }),
  );
  const redis = new Redis(redisUrl);
  keep({ stop: async () => redis.disconnect() });
  const connections: number[] = [];

  const product = (n: number): ReaderPlace => ({
    url: `${stack.url()}/runs/${runIds[n % watchedRuns]}/stream`,
    headers: () => authorization(stack),
  });
  const measured = await compare({
    rounds: Math.min(rounds, 3),
    warmUps: 1,
    sides: {
      bare: () => hold(bare.pid, () => ({ url: `${String(bare.ready['url'])}/stream`, headers: () => ({}) })),
      product: () => hold(stack.pid('api'), product, async () => void connections.push(await clientsOf(redis))),
    },
  });
  const before = await clientsOf(redis);
  const compared = { floor: 'bare', product: 'product' } as const;
  return {
    findings: [
      finding(measured, { ...compared, what: 'memory a stream', unit: 'KiB', metric: 'kibPerStream', budget: most(2) }),
      finding(measured, { ...compared, what: 'processor a second of silence', unit: 'ms', metric: 'cpuMsPerS', budget: null }),
    ],
    checks: checksOf(measured.product, Math.max(...connections) - before),
  };
}

function checksOf(samples: readonly Sample[], moreConnections: number): Check[] {
  const kib = Math.max(...samples.map((sample) => sample['kibPerStream'] ?? Number.NaN));
  return [
    { what: 'KiB a stream, at most', value: kib, budget: most(40) },
    { what: 'Redis connections more than with no stream', value: Math.max(0, moreConnections), budget: most(0) },
  ];
}

async function hold(pid: number, placeOf: (n: number) => ReaderPlace, whileOpen?: () => Promise<void>): Promise<Sample> {
  const before = await memoryBytes(pid);
  const open = [];
  const each = Math.ceil(streams / watchedRuns);
  try {
    for (let n = 0; n < watchedRuns; n++) open.push(await openReaders(each, placeOf(n)));
    await delay(1_000);
    const held = await memoryBytes(pid);
    const cpu = await cpuMs(pid);
    await delay(idleMs);
    const cpuMsPerS = ((await cpuMs(pid)) - cpu) / (idleMs / 1_000);
    await whileOpen?.();
    return { kibPerStream: (held - before) / 1_024 / (each * watchedRuns), cpuMsPerS };
  } finally {
    for (const readers of open) readers.close();
    // The next side is measured when this one's connections are gone.
    await delay(3_000);
  }
}

async function clientsOf(redis: Redis): Promise<number> {
  return Number(/connected_clients:(\d+)/.exec(await redis.info('clients'))?.[1] ?? Number.NaN);
}
