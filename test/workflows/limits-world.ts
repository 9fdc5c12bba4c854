import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent, startRun } from '../support/scenario.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';

/** A deployment with two workers whose provider has limits, and an agent on its model. */
export interface LimitsWorld {
  readonly models: ModelServer;
  readonly stack: Stack;
  readonly agentId: string;
  /** Starts a run and returns its id. */
  start(text: string): Promise<string>;
  /** The run, once it has this status. */
  runIn(id: string, status: string): Promise<Readonly<Record<string, unknown>>>;
  stop(): Promise<void>;
}

export async function startLimitsWorld(
  limits: Readonly<Record<string, number>>,
  revision: Readonly<Record<string, unknown>> = {},
): Promise<LimitsWorld> {
  const models = await startModelServer();
  const stack = await startOwnStack({
    processes: ['api', 'worker-runs', 'worker-runs-2'],
    env: { LONGHAUL_MODEL_REGISTRY: registryWith(models.baseUrl, limits) },
  });
  const agent = await makeAgent(stack, [], revision);

  return {
    models,
    stack,
    agentId: agent.id,
    start: async (text) => (await startRun(stack, agent.id, text)).id,
    async runIn(id, status) {
      for (;;) {
        const { body } = await stack.request('GET', `/runs/${id}`);
        const run: Readonly<Record<string, unknown>> = body;
        if (run['status'] === status) return run;
        if (run['finished_at'] !== null) throw new Error(`run ${id} is ${String(run['status'])}: ${JSON.stringify(run['error'])}`);
        await delay(100);
      }
    },
    async stop() {
      await stack.stop();
      await models.close();
    },
  };
}

function registryWith(baseUrl: string, limits: Readonly<Record<string, number>>): string {
  const facts = {
    context_window: 100_000,
    capabilities: { tools: true, parallel_tools: true, json: 'prompt', reasoning: false, image: false, pdf: false, audio: false },
    first_token_s: 60,
    idle_s: 60,
  };
  const file = join(mkdtempSync(join(tmpdir(), 'limits-')), 'models.json');
  const provider = { id: 'acme', adapter: 'openai_compatible', base_url: baseUrl, default_model: 'chat', model_defaults: facts, limits };
  writeFileSync(file, JSON.stringify({ providers: [provider], models: [{ provider: 'acme', name: 'chat' }] }));
  return file;
}
