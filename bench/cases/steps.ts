import { setTimeout as delay } from 'node:timers/promises';
import type { Script } from '../../test/fakes/model-script.ts';
import { makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { readStream } from '../../test/support/stream-client.ts';
import { most, type Bench, type BenchOptions, type Outcome } from '../harness/bench.ts';
import { compare, finding } from '../harness/compare.ts';
import { startProduct, using } from '../harness/deployment.ts';
import { startModels } from '../harness/models.ts';
import { playRuns } from '../harness/product-runs.ts';

/** As long as it takes the compilers of API and worker: theirs is a server that has been at work. */
const warmUpRuns = 150;
const toolMs = 100;
const slug = 'look-up';
const modelStep = { first_token_ms: 900, tokens: 20, delay_ms: 5 } as const;
const oneStep: Script = { steps: [modelStep] };
const fiveSteps: Script = {
  steps: [...[1, 2, 3, 4].map((n) => ({ text: '', first_token_ms: 1_000, tool_calls: [{ name: slug, arguments: { n } }] })), modelStep],
};

/** What the platform adds to the time of models and tools. */
export const steps: Bench = {
  name: 'steps',
  about:
    `On a product that has done ${warmUpRuns} runs, one run at a time, from POST /runs to run.finished on SSE, against a loop in one process that makes the same calls: one step on a model that takes 1 s; ` +
    'five steps on it with four calls of an HTTP tool that takes 100 ms between them.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const models = keep(await startModels());
  const effects = await startEffectServer();
  keep({ stop: async () => effects.close() });
  effects.onEffect = () => delay(toolMs);
  const stack = keep(await startProduct(['api', 'worker-runs'], { modelBaseUrl: models.baseUrl, egressPorts: [effects.port] }));
  const tool = writeTool(slug, effects, { description: 'Looks it up.', config: { method: 'GET', url: `${effects.origin}/${slug}` } });
  const agent = await makeAgent(stack, [tool]);
  const sidesOf = (script: Script) => ({
    loop: async () => ({ ms: await loop(models.baseUrl, effects, script) }),
    product: async () => ({ ms: await oneRun(stack, agent.id, script) }),
  });

  await playRuns(stack, agent.id, { count: warmUpRuns, concurrency: 4 });
  const short = await compare({ rounds, warmUps: 2, sides: sidesOf(oneStep) });
  log('one step measured');
  const long = await compare({ rounds: Math.ceil(rounds / 2), warmUps: 1, sides: sidesOf(fiveSteps) });
  const compared = { unit: 'ms', metric: 'ms', floor: 'loop', product: 'product', budget: most(1.1) } as const;
  return {
    findings: [
      finding(short, { ...compared, what: '1 step on a 1 s model' }),
      finding(long, { ...compared, what: '5 steps with 4 tools of 100 ms' }),
    ],
    checks: [],
  };
}

async function oneRun(stack: Stack, agentId: string, script: Script): Promise<number> {
  const startedAt = performance.now();
  const run = await startRun(stack, agentId, scripted(script));
  const frames = await readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
  const took = performance.now() - startedAt;
  const status = frames.at(-1)?.data['status'];
  if (status !== 'succeeded') throw new Error(`the run ended as ${String(status)}`);
  return took;
}

/** The same calls without a platform: a streamed request a step, a tool request after each but the last. */
async function loop(modelBaseUrl: string, effects: EffectServer, script: Script): Promise<number> {
  const startedAt = performance.now();
  const messages: object[] = [{ role: 'user', content: scripted(script) }];
  for (const [at, step] of script.steps.entries()) {
    const answer = await fetch(`${modelBaseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'scripted', stream: true, messages }),
    });
    if (!answer.ok) throw new Error(`the model answered ${answer.status}`);
    await answer.text();
    for (const call of step.tool_calls ?? []) {
      const result = await (await fetch(`${effects.origin}/${call.name}`)).text();
      const id = `call_${at}`;
      messages.push(
        { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name: call.name, arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: result },
      );
    }
  }
  return performance.now() - startedAt;
}
