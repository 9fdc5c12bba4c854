import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TokenUsage } from '../../../activities/model/usage/usage.ts';
import { eventsOf, finishOf, requestOf, scripted, startStepBench, type StepBench } from './model-step.ts';
import { sse } from './stream-shapes.ts';
import { streamOf, usageShapes } from './usage-shapes.ts';

let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(() => bench.close());

const bucketsOf = ({ input, cachedRead, cachedWrite, output, reasoning }: TokenUsage) => [
  input,
  cachedRead,
  cachedWrite,
  output,
  reasoning,
];
const usageOf = async (adapter: 'openai' | 'anthropic' | 'openai_compatible' | 'builtin', body: string, facts: object = {}) =>
  finishOf(await eventsOf(bench, requestOf(bench.model(adapter, facts), { messages: scripted({ raw: { body } }) }))).usage;

test.each(usageShapes)('tokens are booked once each, and all of them: $server ($seen)', async (shape) => {
  const usage = await usageOf(shape.adapter, streamOf(shape));

  expect(bucketsOf(usage)).toEqual(shape.books);
  expect(Math.min(...bucketsOf(usage))).toBeGreaterThanOrEqual(0);
  expect(usage.estimated).toBe(shape.isEstimated ?? false);
  if (shape.isSpoken ?? true) expect(usage.output).toBeGreaterThan(0);
});

test.each(usageShapes.filter(({ usage }) => Number(usage['total_tokens'] ?? 0) > 0))(
  'the buckets sum to the total that was billed: $server ($seen)',
  ({ usage, books }) => {
    const outside = usage['citation_tokens'] === undefined ? 0 : 73_997; // Perplexity bills this reasoning outside of its total
    expect(books.reduce((sum, tokens) => sum + tokens, 0)).toBe(Number(usage['total_tokens']) + outside);
  },
);

test('the registry says where no total tells: reasoning that stands beside the completion', async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60, completion_tokens_details: { reasoning_tokens: 20 } };
  const [told] = usageShapes;
  const body = told === undefined ? '' : streamOf({ ...told, usage });

  expect(bucketsOf(await usageOf('openai_compatible', body))).toEqual([10, 0, 0, 30, 20]);
  expect(bucketsOf(await usageOf('openai_compatible', body, { reasoningInOutput: false }))).toEqual([10, 0, 0, 50, 20]);
});

test('a usage in pieces is one, and zeros that come after it take nothing back', async () => {
  const text = {
    choices: [{ index: 0, delta: { content: 'Hello' } }],
    usage: { prompt_tokens: 30, prompt_tokens_details: { cached_tokens: 20 } },
  };
  const stop = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { completion_tokens: 4 } };
  const zeros = {
    choices: [],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } },
  };

  expect(bucketsOf(await usageOf('openai_compatible', sse(text, stop, zeros, '[DONE]')))).toEqual([10, 20, 0, 4, 0]);
});
