import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildRequest } from '../../../activities/model/prompt/build-request.ts';
import { defaultModelSettings } from '../../../activities/model/prompt/prompt.ts';
import type { HistoryMessage } from '../../../db/runs/read/history.ts';
import type { OpenedStep } from '../../../domain/runs/steps/model-steps.ts';
import type { ModelAdapter } from '../../../ports/models/models.ts';
import { createTemplates } from '../../../ports/templates/templates.ts';
import { testWorkPool } from '../../support/work-pool.ts';
import { eventsOf, startStepBench, type StepBench } from './model-step.ts';
import { toldResults, type ToldResult } from './told-results.ts';

const pool = testWorkPool();
let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(async () => {
  await bench.close();
  await pool.close();
});

const common = { origin: 'model', turn: 1, isOwn: true, providerState: null, calls: [], answers: null } as const;
const call = { tool_call_id: 'id1', provider_call_id: 'k1', slug: 'look_up', args: {} };

/** A step of a run that has made one call, which ended so. */
function openedAfter({ state, content, error }: ToldResult): OpenedStep {
  const answers = { ...call, state, error, truncated: false, total_chars: null };
  const history: HistoryMessage[] = [
    { ...common, id: 'm1', role: 'user', origin: 'user', content: [{ type: 'text', text: 'Go.' }] },
    { ...common, id: 'm2', role: 'assistant', content: [], calls: [call] },
    { ...common, id: 'm3', role: 'tool', content, answers },
  ];
  const document = {
    instructions: 'Be brief.',
    model_settings: defaultModelSettings,
    response_format: { type: 'text' },
    context: { max_input_tokens: null, keep_last_turns: 20, on_overflow: 'summarize' },
  };
  return {
    document,
    run: { limits: { max_output_tokens: null } },
    history,
    tools: [],
    skills: [],
    persona: null,
    retries: [],
  } as unknown as OpenedStep; // as far as a request is made of it
}

/** What the request of an adapter gives as the result of the call. */
async function readBy(adapter: ModelAdapter, told: ToldResult): Promise<string> {
  const templates = createTemplates(pool).of(null);
  const request = await buildRequest(templates, openedAfter(told), bench.model(adapter), new AbortController().signal);
  await eventsOf(bench, request);
  const body = JSON.stringify(bench.server.calls().at(-1)?.body);
  const found: { content?: unknown; output?: unknown }[] = [];
  JSON.parse(body, (_key, value: unknown) => {
    const part = value as { role?: string; type?: string; content?: unknown; output?: unknown } | null; // any JSON
    if (part?.role === 'tool' || part?.type === 'tool_result' || part?.type === 'function_call_output') found.push(part);
    return value;
  });
  expect(found).toHaveLength(1);
  const [result] = found;
  const content = result?.output ?? result?.content;
  return typeof content === 'string' ? content : (content as { text: string }[]).map(({ text }) => text).join(''); // Anthropic's list of texts
}

test.each(toldResults)('what the model reads of a call that is $state by $source', async (told) => {
  const expected = typeof told.reads === 'string' ? told.reads : JSON.stringify(told.reads);

  for (const adapter of ['openai', 'anthropic', 'openai_compatible'] as const)
    expect([adapter, await readBy(adapter, told)]).toEqual([adapter, expected]);
});
