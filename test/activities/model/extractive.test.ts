import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ModelAborted } from '../../../activities/model/errors/model-error.ts';
import type { PromptMessage, PromptTool } from '../../../activities/model/prompt/prompt.ts';
import { eventsOf, failureOf, finishOf, requestOf, startStepBench, textOf, type StepBench } from './model-step.ts';
import { cpuMs } from '../../support/cpu.ts';

let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(() => bench.close());

const webFetch: PromptTool = {
  slug: 'web_fetch',
  description: 'Reads a web page',
  effect: 'read',
  inputSchema: { type: 'object', properties: { url: { type: 'string', format: 'uri' }, offset: { type: 'integer' } }, required: ['url'] },
};
const search: PromptTool = {
  slug: 'web_search',
  description: 'Searches',
  effect: 'read',
  inputSchema: { type: 'object', properties: { query: { type: 'string', maxLength: 20 } }, required: ['query'] },
};
const clock: PromptTool = {
  slug: 'current_time',
  description: 'The time',
  effect: 'read',
  inputSchema: { type: 'object', properties: { timezone: { type: 'string' } } },
};
const resultRead: PromptTool = {
  slug: 'result_read',
  description: 'More of a result',
  effect: 'read',
  inputSchema: { type: 'object', properties: { call_id: { type: 'string' }, offset: { type: 'integer' } }, required: ['call_id'] },
};
const send: PromptTool = {
  slug: 'send',
  description: 'Sends',
  effect: 'write',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};
const tools = [webFetch, search, clock, resultRead, send];

const llmsText = `# Longhaul

> Multi-tenant agent platform behind one HTTP API: durable runs, replayable streams, isolated tenants.

Every operation answers errors in one envelope. Start with a service key.

## Runs

GET /runs – List runs (viewer)
POST /runs – Start a run (member)
POST /runs/batch – Start up to 100 runs (member)
GET /runs/{run_id} – Read a run (viewer)
POST /runs/{run_id}/cancel – Cancel a run (member)
POST /runs/{run_id}/retry – Start a run again from its input (member)
GET /runs/{run_id}/messages – List the messages of a run (viewer)

## Agents

GET /agents – List agents (viewer)
POST /agents – Create an agent (member)
`;

const ask = (text: string): PromptMessage => ({ role: 'user', content: [{ type: 'text', text }] });

function read(question: string, output: unknown, result: Partial<Extract<PromptMessage, { role: 'tool' }>> = {}): PromptMessage[] {
  const url = 'http://127.0.0.1:8080/llms.txt';
  return [
    ask(`Read ${url} and answer: ${question}`),
    { role: 'assistant', content: [], toolCalls: [{ id: 'call_1_0', slug: 'web_fetch', args: { url } }] },
    { role: 'tool', toolCallId: 'call_1_0', slug: 'web_fetch', status: 'succeeded', output, ...result },
  ];
}

test('it calls each read tool once whose required arguments the words fill', async () => {
  const events = await eventsOf(
    bench,
    requestOf(bench.model('builtin'), { tools, messages: [ask('What does https://example.com/page, say about the current weather?')] }),
  );

  expect(events.filter((event) => event.type === 'tool_call')).toEqual([
    expect.objectContaining({ pos: 0, slug: 'web_fetch', args: { url: 'https://example.com/page' } }),
    expect.objectContaining({ pos: 1, slug: 'web_search', args: { query: 'What does https://ex' } }),
    expect.objectContaining({ pos: 2, slug: 'current_time', args: {} }),
  ]);
  expect(finishOf(events)).toMatchObject({ stopReason: 'tool_calls', usage: { estimated: false } });
});

test.each([
  ['Which operation starts a run?', 'POST /runs – Start a run (member)'],
  ['Which operation cancels a run?', 'POST /runs/{run_id}/cancel – Cancel a run (member)'],
  ['How do I list the messages of a run?', 'GET /runs/{run_id}/messages – List the messages of a run (viewer)'],
  ['Which operation creates an agent?', 'POST /agents – Create an agent (member)'],
])('on the deployment\'s own document it answers "%s" with the right line and its place', async (question, line) => {
  const messages = read(question, `Title: Longhaul\nURL: http://127.0.0.1:8080/llms.txt\n\n${llmsText}`);

  const events = await eventsOf(bench, requestOf(bench.model('builtin'), { tools, messages }));

  expect(textOf(events).split('\n')[0]).toBe(line);
  expect(textOf(events)).toContain('Source: Longhaul (http://127.0.0.1:8080/llms.txt)');
  expect(events.find((event) => event.type === 'citation')).toEqual({
    type: 'citation',
    index: 1,
    title: 'Longhaul',
    quote: line,
    url: 'http://127.0.0.1:8080/llms.txt',
  });
  expect(finishOf(events).stopReason).toBe('stop');
});

test('it streams small pieces, the same ones every time', async () => {
  const request = requestOf(bench.model('builtin'), { tools, messages: read('What is this platform?', llmsText) });

  const [first, second] = await Promise.all([eventsOf(bench, request), eventsOf(bench, request)]);

  expect(first).toEqual(second);
  const deltas = first.flatMap((event) => (event.type === 'text' ? [event.delta] : []));
  expect(deltas.length).toBeGreaterThan(5);
  expect(Math.max(...deltas.map((delta) => delta.length))).toBeLessThan(60);
});

test('marks of Markdown do not reach the answer, wrapped prose becomes sentences again', async () => {
  const page =
    '# Valkey\n\nValkey is a **fast** server that primarily serves `key/value` workloads. It supports a wide\nrange of [native structures](https://x.test) and plugins.\n\n- To run the _test suite_ use `make test`.\n';

  const prose = await eventsOf(bench, requestOf(bench.model('builtin'), { messages: read('What structures does it support?', page) }));
  const item = await eventsOf(bench, requestOf(bench.model('builtin'), { messages: read('How do I run the tests?', page) }));

  expect(textOf(prose).split('\n')[0]).toBe('It supports a wide range of native structures and plugins.');
  expect(textOf(item).split('\n')[0]).toBe('To run the test suite use make test.');
});

test('rows of a search are sources of their own', async () => {
  const rows = [
    { title: 'Deno', url: 'https://deno.test', snippet: 'Deno 3 is out.' },
    { title: 'Node.js 24', url: 'https://node.test', snippet: 'The latest release of Node.js is 24.21.' },
  ];

  const events = await eventsOf(
    bench,
    requestOf(bench.model('builtin'), { messages: read('What is the latest release of Node.js?', rows) }),
  );

  expect(textOf(events)).toBe('The latest release of Node.js is 24.21.\n\nSource: Node.js 24 (https://node.test)');
});

test('a short result is its own answer, a failed one is named, nothing at all is explained', async () => {
  const short = await eventsOf(
    bench,
    requestOf(bench.model('builtin'), { messages: read('What time is it?', { utc: '2026-11-27T10:00:00Z' }) }),
  );
  const failed = await eventsOf(
    bench,
    requestOf(bench.model('builtin'), {
      messages: read('Why?', null, { status: 'failed', error: { code: 'egress_refused', message: 'not on the allow-list' } }),
    }),
  );
  const nothing = await eventsOf(bench, requestOf(bench.model('builtin'), { tools: [], messages: [ask('Hello!')] }));

  expect(textOf(short)).toContain('utc: 2026-11-27T10:00:00Z');
  expect(textOf(failed)).toContain('not on the allow-list');
  expect(textOf(nothing)).toContain('without a language model');
});

test('hostile pages cost linear time', async () => {
  const units = ['[', '[a](', '<a ', ' ', '| ', '*a', '. A', '\n', '?'];
  const started = cpuMs();

  for (const unit of units) {
    const page = unit.repeat(Math.ceil(200_000 / unit.length));
    await eventsOf(bench, requestOf(bench.model('builtin'), { tools: [], messages: read(page.slice(0, 50_000), page) }));
  }

  expect(cpuMs() - started).toBeLessThan(5_000);
});

test('an output limit cuts it, the signal ends it', async () => {
  const messages = read('What is this platform?', llmsText);

  const cut = await eventsOf(bench, requestOf(bench.model('builtin'), { messages, maxOutputTokens: 5 }));
  const { error } = await failureOf(bench, requestOf(bench.model('builtin'), { messages, signal: AbortSignal.abort('stop') }));

  expect(finishOf(cut)).toMatchObject({ stopReason: 'max_output', usage: { output: 5 } });
  expect(error).toBeInstanceOf(ModelAborted);
});
