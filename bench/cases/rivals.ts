import { setTimeout as delay } from 'node:timers/promises';
import { makeAgent, scripted, startRun } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { readStream } from '../../test/support/stream-client.ts';
import type { Script } from '../../test/fakes/model-script.ts';
import type { Bench, BenchOptions, Outcome } from '../harness/bench.ts';
import { compare, finding, median } from '../harness/compare.ts';
import { startProduct, using } from '../harness/deployment.ts';
import { inLanes } from '../harness/floor-runs.ts';
import { startLangGraph, type LangGraph } from '../harness/langgraph.ts';
import { startModels } from '../harness/models.ts';

const many = 40;
const concurrency = 8;
const singles = 8;
const instant = scripted({ steps: [{ text: 'Hello there' }] });
const slowModel: Script = { steps: [{ first_token_ms: 900, tokens: 20, delay_ms: 5 }] };

/** The same work on another platform's server. */
export const rivals: Bench = {
  name: 'rivals',
  about:
    `A conversation of its own, one streamed model call, read over SSE to its end: against LangGraph’s JavaScript server (\`@langchain/langgraph-api\`), which keeps runs and threads in the memory ` +
    `of its process and loses them with it. ${many} runs, ${concurrency} at a time, after ${many * 4} to warm up, on a model that answers at once; the first text of a single run; one run on a model that takes 1 s.`,
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const models = keep(await startModels());
  const langGraph = keep(await startLangGraph(models.baseUrl));
  const stack = keep(await startProduct(['api', 'worker-runs'], { modelBaseUrl: models.baseUrl }));
  const agent = await makeAgent(stack, []);
  const product = (text: string) => runOnce(stack, agent.id, text);

  const throughput = await compare({
    rounds,
    warmUps: 4,
    sides: { langGraph: () => perSecond(langGraph.run), product: () => perSecond(product) },
  });
  log('runs a second measured');
  const first = await compare({ rounds, warmUps: 1, sides: { langGraph: () => firstOf(langGraph.run), product: () => firstOf(product) } });
  const slow = await compare({
    rounds,
    warmUps: 1,
    sides: { langGraph: () => totalOf(langGraph.run, scripted(slowModel)), product: () => totalOf(product, scripted(slowModel)) },
  });
  const compared = { floor: 'langGraph', product: 'product', budget: null } as const;
  return {
    findings: [
      finding(throughput, { ...compared, what: 'runs a second, instant model', unit: '/s', metric: 'perSecond' }),
      finding(first, { ...compared, what: 'start to first text', unit: 'ms', metric: 'ms' }),
      finding(slow, { ...compared, what: '1 step on a 1 s model', unit: 'ms', metric: 'ms' }),
    ],
    checks: [],
  };
}

type RunOnce = LangGraph['run'];

async function perSecond(run: RunOnce): Promise<{ perSecond: number }> {
  const startedAt = performance.now();
  await inLanes(many, concurrency, async () => void (await run(instant)));
  return { perSecond: (many * 1_000) / (performance.now() - startedAt) };
}

async function firstOf(run: RunOnce): Promise<{ ms: number }> {
  const times: number[] = [];
  for (let n = 0; n < singles; n++) times.push((await run(instant)).firstMs);
  return { ms: median(times) };
}

async function totalOf(run: RunOnce, text: string): Promise<{ ms: number }> {
  return { ms: (await run(text)).totalMs };
}

async function runOnce(stack: Stack, agentId: string, text: string): Promise<{ firstMs: number; totalMs: number }> {
  const startedAt = performance.now();
  const run = await startRun(stack, agentId, text);
  const reader = readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);
  while (!reader.frames.some((frame) => frame.type === 'message.delta')) await delay(1);
  const firstMs = performance.now() - startedAt;
  const frames = await reader.finished;
  if (frames.at(-1)?.data['status'] !== 'succeeded') throw new Error('the run did not succeed');
  return { firstMs, totalMs: performance.now() - startedAt };
}
