import { setTimeout as delay } from 'node:timers/promises';
import { makeAgent, startRun } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { readStream } from '../../test/support/stream-client.ts';
import { least, type Bench, type BenchOptions, type Outcome } from '../harness/bench.ts';
import { compare, finding, median } from '../harness/compare.ts';
import { startProduct, using } from '../harness/deployment.ts';
import { startFloorRuns } from '../harness/floor-runs.ts';
import { startModels } from '../harness/models.ts';
import { instantAnswer, playRuns } from '../harness/product-runs.ts';

const many = 40;
const concurrency = 8;
const singles = 8;
/** As long as it takes the compilers of both. */
const warmUps = 5;

/** Whole runs against a bare workflow. */
export const runs: Bench = {
  name: 'runs',
  about:
    `${many} runs of one step on a model that answers at once, started by POST /runs (${concurrency} at a time), until all have ended, after ${many * warmUps} to warm up, against a bare workflow with three activities too ` +
    '(the second adds a frame to a Redis stream), started by the Temporal client; both on workers with the product’s tuning. ' +
    'First frame: from the start to the arrival of the first message.delta on SSE, one run at a time, against that of the bare frame at a blocking XREAD.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds }: BenchOptions, keep: Keep): Promise<Outcome> {
  const models = keep(await startModels());
  const stack = keep(await startProduct(['api', 'worker-runs'], { modelBaseUrl: models.baseUrl }));
  const bare = keep(await startFloorRuns());
  const agent = await makeAgent(stack, []);

  const throughput = await compare({
    rounds,
    warmUps,
    sides: {
      bare: async () => ({ perSecond: (many * 1_000) / (await bare.runMany(many, concurrency)) }),
      product: async () => ({ perSecond: (many * 1_000) / (await playRuns(stack, agent.id, { count: many, concurrency })) }),
    },
  });
  const first = await compare({
    rounds,
    warmUps: 1,
    sides: {
      bare: async () => ({ ms: await ofSingles(() => bare.firstFrame()) }),
      product: async () => ({ ms: await ofSingles(() => firstFrame(stack, agent.id)) }),
    },
  });
  const compared = { floor: 'bare', product: 'product' } as const;
  return {
    findings: [
      finding(throughput, { ...compared, what: 'runs a second, instant model', unit: '/s', metric: 'perSecond', budget: least(0.6) }),
      finding(first, { ...compared, what: 'start to first frame of the model', unit: 'ms', metric: 'ms', budget: null }),
    ],
    checks: [],
  };
}

async function firstFrame(stack: Stack, agentId: string): Promise<number> {
  const startedAt = performance.now();
  const run = await startRun(stack, agentId, instantAnswer);
  const reader = readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);
  while (!reader.frames.some((frame) => frame.type === 'message.delta')) await delay(1);
  const took = performance.now() - startedAt;
  await reader.finished;
  return took;
}

async function ofSingles(measureOne: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < singles; n++) times.push(await measureOne());
  return median(times);
}
