import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ModelAdapter } from '../../../ports/models/models.ts';
import type { Fault } from '../../fakes/model-server.ts';
import { ModelAborted, type ModelError } from '../../../activities/model/errors/model-error.ts';
import { streamModelStep } from '../../../activities/model/step.ts';
import { failureOf, requestOf, scripted, startStepBench, type StepBench } from './model-step.ts';

let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(() => bench.close());

const providers = ['openai', 'anthropic', 'openai_compatible'] as const satisfies readonly ModelAdapter[];

function status(code: number, rest: { headers?: Record<string, string>; error?: Record<string, unknown> } = {}): Fault {
  return {
    kind: 'status',
    status: code,
    headers: rest.headers ?? {},
    body: { type: 'error', error: { type: 'some_error', message: 'no', ...rest.error } },
  };
}

/** Each row of the table of signals, as a fault of the server and what must come of it. */
const signals: readonly (readonly [string, Fault, object])[] = [
  ['408', status(408), { class: 'Unavailable', retryable: true, status: 408 }],
  ['409', status(409), { class: 'Unavailable', retryable: true, status: 409 }],
  [
    '429 with Retry-After in seconds',
    status(429, { headers: { 'retry-after': '7' } }),
    { class: 'RateLimited', retryable: true, retryAfterMs: 7_000 },
  ],
  [
    '429 with retry-after-ms first',
    status(429, { headers: { 'retry-after-ms': '250', 'retry-after': '7' } }),
    { class: 'RateLimited', retryAfterMs: 250 },
  ],
  [
    '429 with a used-up quota of OpenAI',
    status(429, {
      headers: {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '1m2.5s',
        'x-ratelimit-remaining-tokens': '29996',
        'x-ratelimit-reset-tokens': '6m0s',
      },
    }),
    { class: 'RateLimited', retryAfterMs: 62_500 },
  ],
  [
    '429 with quotas of OpenAI of which something remains',
    status(429, { headers: { 'x-ratelimit-remaining-requests': '499', 'x-ratelimit-reset-requests': '120ms' } }),
    { class: 'RateLimited', retryAfterMs: null },
  ],
  [
    '429 with a used-up quota of Anthropic',
    status(429, {
      headers: {
        'anthropic-ratelimit-requests-remaining': '4000',
        'anthropic-ratelimit-requests-reset': '2025-06-02T15:14:45Z',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2999-06-02T15:15:48Z',
      },
    }),
    { class: 'RateLimited', retryAfterMs: 86_400_000 },
  ],
  ['500', status(500), { class: 'Unavailable', retryable: true, usage: null }],
  ['529', status(529), { class: 'Unavailable', retryable: true, status: 529, providerCode: 'some_error' }],
  [
    'x-should-retry false outranks 500',
    status(500, { headers: { 'x-should-retry': 'false' } }),
    { class: 'Unavailable', retryable: false },
  ],
  ['x-should-retry true outranks 400', status(400, { headers: { 'x-should-retry': 'true' } }), { class: 'Rejected', retryable: true }],
  ['200 with an unreadable body', { kind: 'html' }, { class: 'Unreachable', retryable: true, usage: null }],
  ['connection refused', { kind: 'refuse' }, { class: 'Unreachable', retryable: true, usage: null }],
  [
    'an error frame, then stop',
    { kind: 'error_frame', after: 2, error: { type: 'overloaded_error', code: 'overloaded', message: 'busy' } },
    { class: 'Unavailable', retryable: true },
  ],
  [
    'an error frame of unknown kind, then stop',
    { kind: 'error_frame', after: 2, error: { type: 'mishap', code: 'mishap', message: 'oh' } },
    { retryable: true },
  ],
  ['a garbled frame, then stop', { kind: 'garbage', after: 2 }, { class: 'StreamCut', retryable: true }],
  ['no finish though text came', { kind: 'no_finish', after: 2 }, { class: 'StreamCut', retryable: true }],
  ['connection reset in the middle', { kind: 'reset', after: 2 }, { class: 'StreamCut', retryable: true }],
  ['401', status(401), { class: 'AuthRefused', retryable: false }],
  ['403', status(403), { class: 'AuthRefused', retryable: false }],
  ['404', status(404), { class: 'Rejected', retryable: false }],
  ['422', status(422), { class: 'Rejected', retryable: false }],
  [
    '400 on context length by code',
    status(400, { error: { code: 'context_length_exceeded' } }),
    { class: 'ContextTooLong', retryable: false },
  ],
  [
    '400 on context length by words',
    status(400, { error: { message: 'prompt is too long: 210000 tokens > 200000 maximum' } }),
    { class: 'ContextTooLong', retryable: false },
  ],
];

for (const [name, fault, expected] of signals) {
  test(`${name} has its class with every provider`, async () => {
    const messages = scripted({ text: 'one two three four', fault });

    const errors = await Promise.all(
      providers.map(async (adapter) => (await failureOf(bench, requestOf(bench.model(adapter), { messages }))).error),
    );

    for (const error of errors) expect(error).toMatchObject({ name: 'ModelError', ...expected });
  });
}

test('Retry-After as a date is a distance in time', async () => {
  const at = new Date(Date.now() + 90_000).toUTCString();
  const messages = scripted({ fault: status(503, { headers: { 'retry-after': at } }) });

  const { error } = await failureOf(bench, requestOf(bench.model('openai_compatible'), { messages }));

  expect(error).toMatchObject({ class: 'Unavailable' });
  expect((error as ModelError).retryAfterMs).toBeGreaterThan(25_000);
});

test.each(providers)('silence before the first token and between tokens ends as StreamIdle (%s)', async (adapter) => {
  const late = failureOf(
    bench,
    requestOf(bench.model(adapter, { firstTokenS: 0.3 }), { messages: scripted({ text: 'late', first_token_ms: 20_000 }) }),
  );
  const drip = failureOf(
    bench,
    requestOf(bench.model(adapter, { idleS: 0.3 }), {
      messages: scripted({ text: 'one two', fault: { kind: 'drip', after: 1, interval_ms: 20 } }),
    }),
  );

  expect((await late).error).toMatchObject({ class: 'StreamIdle', retryable: true });
  const { error, events } = await drip;
  expect(error).toMatchObject({ class: 'StreamIdle', retryable: true, usage: { estimated: true } });
  expect(events).toEqual([{ type: 'text', index: 0, delta: 'one ' }]);
});

test('a slow consumer is no silence of the model', async () => {
  const request = requestOf(bench.model('openai_compatible', { idleS: 0.15 }), {
    messages: scripted({ text: 'one two three', delay_ms: 20 }),
  });

  let pieces = 0;
  for await (const event of streamModelStep(bench, request)) {
    if (event.type === 'text' && pieces++ === 0) await new Promise((resolve) => setTimeout(resolve, 400)); // longer than the model may be silent
  }

  expect(pieces).toBe(3);
});

test.each(providers)('the signal of the caller ends the request at once (%s)', async (adapter) => {
  const controller = new AbortController();
  const messages = scripted({ text: `one two ${adapter}`, fault: { kind: 'hang', after: 1 } });
  const stream = streamModelStep(bench, requestOf(bench.model(adapter), { messages, signal: controller.signal }));

  await stream.next();
  const pending = stream.next();
  controller.abort('cancelled');
  const error = await pending.catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(ModelAborted);
  expect(error).toMatchObject({ cause: 'cancelled', usage: { estimated: true, output: 1 } });
});

test('a signal that fired before sends nothing', async () => {
  const before = bench.server.calls().length;

  const { error } = await failureOf(bench, requestOf(bench.model('openai_compatible'), { signal: AbortSignal.abort('too late') }));

  expect(error).toBeInstanceOf(ModelAborted);
  expect(bench.server.calls()).toHaveLength(before);
});

test('leaving the loop ends the request', async () => {
  const messages = scripted({ tokens: 10_000, delay_ms: 5 });

  for await (const _event of streamModelStep(bench, requestOf(bench.model('openai_compatible'), { messages }))) break;

  await waitFor(() => bench.server.calls().at(-1)?.outcome === 'client_gone');
});

test('a filter of the provider is ContentRefused and keeps its usage; a cut is none', async () => {
  const filtered = await failureOf(
    bench,
    requestOf(bench.model('openai_compatible'), { messages: scripted({ text: 'half an', finish_reason: 'content_filter' }) }),
  );
  const cut = await failureOf(
    bench,
    requestOf(bench.model('openai_compatible'), { messages: scripted({ text: 'half an', finish_reason: 'abort' }) }),
  );

  expect(filtered.error).toMatchObject({ class: 'ContentRefused', retryable: false, usage: { output: 2, estimated: false } });
  expect(cut.error).toMatchObject({ class: 'StreamCut', retryable: true });
});

test('no error holds the key, an address or the prompt', async () => {
  const secret = 'the quick brown fox jumps over the lazy dog beside the river';
  const message = `Incorrect API key provided: sk-openai-canary-key at https://10.1.2.3/v1. Your prompt was: "${secret}"`;
  const fault = status(400, { error: { message } });
  const request = requestOf(bench.model('openai'), { instructions: secret, messages: scripted({ fault }) });

  const { error } = await failureOf(bench, request);

  const everything = [error.message, error.stack, JSON.stringify(error), String(error.cause)].join('\n');
  for (const leak of ['sk-openai-canary-key', '10.1.2.3', 'quick brown fox', 'lazy dog']) expect(everything).not.toContain(leak);
  expect(error.message.length).toBeLessThanOrEqual(500);
});

async function waitFor(condition: () => boolean): Promise<void> {
  const until = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > until) throw new Error('the condition did not come true');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
