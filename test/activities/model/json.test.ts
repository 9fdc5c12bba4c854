import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { formatNotice, jsonAnswerOf, judgeAnswer, resultToolOf, type JsonAnswer } from '../../../activities/model/prompt/json-answer.ts';
import { createSchemas, type TenantSchemas } from '../../../ports/json/schema.ts';
import type { ModelAdapter } from '../../../ports/models/models.ts';
import { testWorkPool } from '../../support/work-pool.ts';
import { eventsOf, requestOf, scripted, startStepBench, type StepBench } from './model-step.ts';

let bench: StepBench;
let schemas: TenantSchemas;
const pool = testWorkPool();

beforeAll(async () => {
  bench = await startStepBench();
  schemas = createSchemas(pool).of(null);
});

afterAll(async () => {
  await pool.close();
  await bench?.close();
});

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};
const format = { type: 'json', name: 'weather', schema, strict: false } as const;
const json = (mode: JsonAnswer['mode']): JsonAnswer => ({ mode, schema, name: 'weather', strict: false });

/** The body that a provider gets for a JSON answer. */
async function bodyOf(adapter: ModelAdapter, mode: JsonAnswer['mode'], withTools = true): Promise<Record<string, unknown>> {
  const model = bench.model(adapter);
  const facts = bench.model(adapter, { id: `${model.id}-${mode}`, capabilities: { ...model.capabilities, json: mode } });
  const answer = json(mode);
  const tool = resultToolOf(answer);
  const { tools } = requestOf(facts);
  await eventsOf(
    bench,
    requestOf(facts, { messages: scripted({ text: '{}' }), json: answer, tools: [...(withTools ? tools : []), ...(tool ? [tool] : [])] }),
  );
  return bench.server.calls().at(-1)?.body ?? {};
}

test('a model that answers in JSON by itself gets the schema as its format', async () => {
  const compatible = await bodyOf('openai_compatible', 'native');
  const responses = await bodyOf('openai', 'native');

  expect(compatible['response_format']).toEqual({ type: 'json_schema', json_schema: { schema, strict: false, name: 'weather' } });
  expect(responses['text']).toMatchObject({ format: { type: 'json_schema', strict: false, name: 'weather', schema } });
});

test('a model that does not is made to call a tool: the one, or with others beside it any', async () => {
  const beside = await bodyOf('openai_compatible', 'tool');
  const alone = await bodyOf('openai_compatible', 'tool', false);

  expect([beside['tool_choice'], (beside['tools'] as unknown[]).length]).toEqual(['required', 2]);
  expect(alone['tool_choice']).toEqual({ type: 'function', function: { name: 'emit_result' } });
  expect(beside['response_format']).toBeUndefined();
});

test('a model without tools is asked in words', () => {
  const model = bench.model('openai_compatible');
  const bare = { ...model, capabilities: { ...model.capabilities, tools: false } };

  expect(jsonAnswerOf(bare, format)?.mode).toBe('prompt');
  expect(jsonAnswerOf(model, { ...format, type: 'text', schema: null })).toBeNull();
  expect(formatNotice(jsonAnswerOf(bare, format))).toContain('"required":["city","degrees"]');
  expect(formatNotice(json('native'))).toBe('');
});

test.each([
  ['arguments of the result tool', { args: { city: 'Bern', degrees: 3 }, argsText: '', text: '' }],
  ['words', { args: null, argsText: '', text: ' {"city":"Bern","degrees":3}\n' }],
  ['a code fence', { args: null, argsText: '', text: '```json\n{"city":"Bern","degrees":3}\n```' }],
])('%s that fit the schema are the value', async (_name, given) => {
  expect(await judgeAnswer(schemas, json('tool'), given)).toEqual({ kind: 'fits', value: { city: 'Bern', degrees: 3 } });
});

test('what does not fit is told by field, without a value', async () => {
  const secret = await judgeAnswer(schemas, json('tool'), { args: { city: 7, canary: 'secret' }, argsText: '', text: '' });
  const words = await judgeAnswer(schemas, json('prompt'), { args: null, argsText: '', text: 'It is 3 degrees.' });

  expect(secret).toMatchObject({ kind: 'broken', told: expect.stringMatching(/degrees.*city|city.*degrees/s) });
  expect(JSON.stringify(secret)).not.toContain('secret');
  expect(words).toEqual({ kind: 'broken', told: 'The answer is not a JSON value.' });
});
