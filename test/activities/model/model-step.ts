import { createProviders, type Providers } from '../../../activities/model/wire/providers.ts';
import { defaultModelSettings } from '../../../activities/model/prompt/prompt.ts';
import { streamModelStep, type ModelEvent, type ModelFinish, type ModelStepRequest } from '../../../activities/model/step.ts';
import { ModelAborted, ModelError } from '../../../activities/model/errors/model-error.ts';
import { loadModelRegistry, type ModelAdapter, type ResolvedModel } from '../../../ports/models/models.ts';
import { startModelServer, type ModelServer, type Script, type ScriptStep } from '../../fakes/model-server.ts';

const ids = {
  openai: 'openai/gpt-5.4-mini',
  anthropic: 'anthropic/claude-sonnet-5-5',
  openai_compatible: 'compatible/fake',
  builtin: 'builtin/extractive',
};

export interface StepBench {
  readonly server: ModelServer;
  readonly providers: Providers;
  model(adapter: ModelAdapter, facts?: Partial<ResolvedModel>): ResolvedModel;
  close(): Promise<void>;
}

/** The model step beside a scripted server that speaks for all three kinds of provider. */
export async function startStepBench(): Promise<StepBench> {
  const server = await startModelServer();
  const providers = createProviders({ paceMs: 0 });
  const env = {
    OPENAI_API_KEY: 'sk-openai-canary-key',
    ANTHROPIC_API_KEY: 'anthropic-canary-key',
    LONGHAUL_MODEL_BASE_URL: server.baseUrl,
    LONGHAUL_MODEL: 'fake',
  };
  const registry = loadModelRegistry(env, { info: () => undefined });

  return {
    server,
    providers,
    model(adapter, facts = {}) {
      const model = registry.resolve(ids[adapter]);
      if (!model) throw new Error(`no model for ${adapter}`);
      return { ...model, ...facts, connection: { ...model.connection, baseUrl: server.baseUrl } };
    },
    async close() {
      await providers.close();
      await server.close();
    },
  };
}

export function requestOf(model: ResolvedModel, changes: Partial<ModelStepRequest> = {}): ModelStepRequest {
  return {
    model,
    instructions: 'Be brief.',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    tools: [
      {
        slug: 'look_up',
        description: 'Looks something up',
        inputSchema: { type: 'object', properties: { word: { type: 'string' } } },
        effect: 'read',
      },
    ],
    settings: defaultModelSettings,
    maxOutputTokens: null,
    signal: new AbortController().signal,
    ...changes,
  };
}

/** A user message that brings its own script. */
export function scripted(...steps: ScriptStep[]): ModelStepRequest['messages'] {
  const script: Script = { steps };

  return [{ role: 'user', content: [{ type: 'text', text: `<script>${JSON.stringify(script)}</script>` }] }];
}

export async function eventsOf(bench: StepBench, request: ModelStepRequest): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of streamModelStep(bench, request)) events.push(event);

  return events;
}

/** The error of a call that must fail, and what came before it. */
export async function failureOf(
  bench: StepBench,
  request: ModelStepRequest,
): Promise<{ error: ModelError | ModelAborted; events: ModelEvent[] }> {
  const events: ModelEvent[] = [];
  try {
    for await (const event of streamModelStep(bench, request)) events.push(event);
  } catch (error) {
    if (error instanceof ModelError || error instanceof ModelAborted) return { error, events };
    throw error;
  }
  throw new Error('the call was expected to fail');
}

export function finishOf(events: readonly ModelEvent[]): ModelFinish {
  const last = events.at(-1);
  if (last?.type !== 'finish') throw new Error('the step did not end with finish');

  return last;
}

export function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.delta : '')).join('');
}
