import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RawAnswer } from '../../fakes/model-raw.ts';
import type { ModelAdapter } from '../../../ports/models/models.ts';
import { httpErrors, overflowWordings, toldErrors } from './error-wordings.ts';
import { failureOf, requestOf, startStepBench, type StepBench } from './model-step.ts';

let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(() => bench.close());

const providers = ['openai', 'anthropic', 'openai_compatible'] as const satisfies readonly ModelAdapter[];
const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body));
const json = (status: number, body: unknown): RawAnswer => ({ status, content_type: 'application/json', body: textOf(body) });

/** The error of every provider that answers so; no word of the question, so that nothing is taken for an echo of it. */
async function errorsOf(raw: RawAnswer) {
  bench.server.script('said', { steps: [{ raw }] });
  const messages = [{ role: 'user', content: [{ type: 'text', text: '[script:said]' }] }] as const;
  const failures = providers.map(async (adapter) => failureOf(bench, requestOf(bench.model(adapter), { messages })));
  return (await Promise.all(failures)).map(({ error }) => error);
}

test.each(httpErrors)(
  'the sentence of a provider reaches whoever reads the error: $status with $name',
  async ({ status, body, says, ...facts }) => {
    for (const error of await errorsOf(json(status, body))) {
      expect(error).toMatchObject({ class: facts.class, retryable: facts.retryable, status });
      expect(error.message).toContain(says);
    }
  },
);

test.each(toldErrors)('and so does that of an error inside a 200 or inside its stream: $name', async ({ body, says, ...facts }) => {
  const event = `data: ${textOf(body)}\n\n`;

  for (const raw of [json(200, body), { body: event }, { body: `: hb\n\n${event}`, afterwards: 'open' } as const])
    for (const error of await errorsOf(raw)) {
      expect(error).toMatchObject({ class: facts.class, retryable: facts.retryable });
      expect(error.message).toContain(says);
    }
});

test.each(overflowWordings)('an overflow of the context is recognised by the words of $server ($seen)', async ({ status, body }) => {
  const raws = [json(status, body), ...(typeof body === 'string' ? [] : [json(200, body), { body: `data: ${textOf(body)}\n\n` }])];

  for (const raw of raws)
    for (const error of await errorsOf(raw)) expect(error).toMatchObject({ class: 'ContextTooLong', retryable: false });
});

test.each([
  [429, 'Rate limit reached for m: Limit 30000 tokens per min, Requested 40000.', 'RateLimited'],
  [429, 'Too many tokens, please wait before trying again.', 'RateLimited'],
  [400, 'max_tokens is too large: 50000. This model supports at most 16384 completion tokens.', 'Rejected'],
  [400, 'The context is missing.', 'Rejected'],
  [500, 'The model ran into an internal error.', 'Unavailable'],
])('what only sounds like an overflow is none: %s %s', async (status, message, expected) => {
  for (const error of await errorsOf(json(status, { error: { message } }))) expect(error).toMatchObject({ class: expected });
});

test('errors outside of `data` are read: a field of its own, the JSON alone, an event of that name', async () => {
  const error = JSON.stringify({ error: { code: 400, message: 'too hot' } });

  for (const body of [
    `error: ${error}\n\n`,
    `${error.replace('{', ' {').trim()}\n`,
    `: hb\n${error}\n\n`,
    'event: error\ndata: too hot\n\n',
  ]) {
    const [, , compatible] = await errorsOf({ body });
    expect(compatible?.message).toContain('too hot');
  }
});

test('an endless error is cut, and so is its sentence', async () => {
  const [error] = await errorsOf({ status: 400, body: `{"error":"${'words and words '.repeat(20_000)}`, afterwards: 'open' });

  expect(error).toMatchObject({ class: 'Rejected' });
  expect(error?.message.length).toBeLessThanOrEqual(500);
});
