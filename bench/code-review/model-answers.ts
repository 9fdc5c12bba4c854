import { questionOf } from '../../activities/code-review/stages/stage-questions.ts';
import { formatNotice, jsonAnswerOf, parseJson, resultToolOf } from '../../activities/model/prompt/json-answer.ts';
import { defaultModelSettings } from '../../activities/model/prompt/prompt.ts';
import { createProviders } from '../../activities/model/wire/providers.ts';
import { streamModelStep } from '../../activities/model/step.ts';
import { reviewConfigOf } from '../../api/code-review/configs.schema.ts';
import { keyOf, type StageAnswer } from '../../domain/code-review/pipeline/advance.ts';
import { loadModelRegistry } from '../../ports/models/models.ts';
import { createTemplates } from '../../ports/templates/templates.ts';
import { createWorkPool } from '../../ports/untrusted/pool.ts';
import { pino } from 'pino';
import { defaultTemplates, type Answering } from './play.ts';

/** A model that reviews the corpus. */
export interface CorpusModel {
  readonly name: string;
  readonly answer: Answering;
  /** Tokens of all prompts and answers so far. */
  tokens(): number;
  close(): Promise<void>;
}

const maxOutputTokens = 16_000;

/** The model that `LONGHAUL_MODEL` names in an environment, asked with the prompts of the product; null: it names none. */
export function openModel(env: Readonly<Record<string, string | undefined>>): CorpusModel | null {
  if (!env['LONGHAUL_MODEL']) return null;
  const log = pino({ level: 'silent' });
  const registry = loadModelRegistry(env, log);
  const model = registry.resolve(null);
  if (model === null) throw new Error(`there is no model ${env['LONGHAUL_MODEL']}`);
  const pool = createWorkPool({ log });
  const deps = { templates: createTemplates(pool), providers: createProviders() };
  const run = { organizationId: 'bench', templates: defaultTemplates(), binding: { reviewConfig: reviewConfigOf({}) } };
  let tokens = 0;

  const answer: Answering = async ({ call, review }): Promise<StageAnswer> => {
    const state = { run, material: review.material, answers: review.answers };
    const question = await questionOf(deps, state, { ...call, step: 0 });
    if (question === null) throw new Error(`nothing is asked by ${keyOf(call)}`);
    const json = jsonAnswerOf(model, { type: 'json', name: 'answer', schema: question.schema, strict: true });
    const tool = resultToolOf(json);
    const request = {
      model,
      instructions: [question.instructions, formatNotice(json)].filter((part) => part !== '').join('\n\n'),
      messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: question.prompt }] }],
      tools: tool === null ? [] : [tool],
      settings: defaultModelSettings,
      maxOutputTokens: Math.min(maxOutputTokens, model.maxOutputTokens ?? Infinity),
      json,
      signal: AbortSignal.timeout(300_000),
    };
    let text = '';
    let value: unknown;
    for await (const event of streamModelStep(deps, request)) {
      if (event.type === 'text') text += event.delta;
      if (event.type === 'tool_call') value = event.args;
      if (event.type === 'finish') tokens += event.usage.input + event.usage.cachedRead + event.usage.cachedWrite + event.usage.output;
    }
    value ??= parseJson(text);
    return value === undefined ? { kind: 'failed', reason: 'model' } : { kind: 'given', value };
  };
  return { name: model.id, answer, tokens: () => tokens, close: () => pool.close() };
}
