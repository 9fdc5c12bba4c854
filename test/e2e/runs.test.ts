import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer, type ScriptStep } from '../fakes/model-server.ts';
import { checkRun, endOf, watchRun, type Checked } from '../support/run-checks.ts';
import { archivedFrames, makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

let models: ModelServer;
let effects: EffectServer;
let pages: Server;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  effects = await startEffectServer();
  pages = createServer((request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(pageOf(request.url ?? '')));
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, egressPorts: [effects.port, portOf(pages)] });
});

afterAll(async () => {
  await stack?.stop();
  pages?.close();
  effects?.close();
  await models?.close();
});

const portOf = (server: Server) => (server.address() as AddressInfo).port; // it listens

/** `/long`: five million characters that tell where they stand. */
function pageOf(path: string): string {
  if (path !== '/long') return `page ${path}`;
  return Array.from({ length: 500_000 }, (_, n) => `#${String(n).padStart(8, '0')}\n`).join('');
}

const readTool = (slug: string, path: string, more: object = {}) => ({
  slug,
  kind: 'http',
  description: 'Reads a page.',
  input_schema: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false },
  config: { method: 'GET', url: `http://127.0.0.1:${portOf(pages)}${path}` },
  ...more,
});
const slugOf = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}`;
const call = (name: string, args: unknown = {}) => ({ name, arguments: args });

/** Starts a run of these steps and waits for its end; any broken promise fails the test. */
async function play(
  agentId: string,
  steps: readonly ScriptStep[],
  options: { sessionKey?: string; words?: string } = {},
): Promise<Checked & { id: string }> {
  const run = await startRun(stack, agentId, scripted({ steps }, options.words ?? `Play ${crypto.randomUUID()}.`), options);
  const frames = await endOf(watchRun(stack, run.id));
  const checked = await checkRun(stack, run.id, { seen: [frames] });
  expect(checked.faults).toEqual([]);
  return { ...checked, id: run.id };
}

const dataOf = (checked: Pick<Checked, 'frames'>, type: string) =>
  checked.frames.filter((frame) => frame.type === type).map((frame) => frame.data);
const cancel = (runId: string, body: object = {}) => stack.request('POST', `/runs/${runId}/cancel`, { body });
const messagesOf = async (runId: string, query = '') =>
  (
    (await stack.request('GET', `/runs/${runId}/messages${query}`)).body as {
      items: { role: string; state: string; stop_reason: string; content: { text?: string }[] }[];
    }
  ).items;

/** The prompt of the newest model call whose text holds these words. */
function promptWith(words: string): { role: string; content: unknown; tool_calls?: unknown[] }[] {
  const found = models.calls().findLast((one) => JSON.stringify(one.body).includes(words));
  return (found?.body['messages'] ?? []) as never; // the body of our own product
}

test('a cancel of a streaming answer ends the run long before the answer would have; what was said stays, nothing follows', async () => {
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 1_200, delay_ms: 50 }] }));
  const reader = watchRun(stack, run.id);
  await until(() => reader.frames.filter((frame) => frame.type === 'message.delta').length >= 5);

  const at = Date.now();
  const answer = await cancel(run.id, { reason: 'Enough.' });
  const frames = await endOf(reader);
  const tookMs = Date.now() - at;
  await delay(1_000);
  const checked = await checkRun(stack, run.id, { seen: [frames] });

  expect(answer).toMatchObject({ status: 202, body: { status: 'cancelling' } });
  expect(tookMs).toBeLessThan(40_000); // the answer takes a minute
  expect(checked.faults).toEqual([]);
  expect(checked.run).toMatchObject({
    status: 'cancelled',
    finish_reason: 'cancelled',
    output: { text: expect.stringMatching(/^t0 t1 /) },
  });
  expect(await archivedFrames(stack, run.id)).toHaveLength(frames.length);
  expect(await messagesOf(run.id)).toMatchObject([
    { role: 'user', state: 'committed' },
    { role: 'assistant', state: 'committed', stop_reason: 'cancelled' },
  ]);
  expect(await cancel(run.id)).toMatchObject({ status: 409, body: { context: { reason: 'run_finished' } } });
});

test('a cancel with rollback leaves no trace of the turn for the next one', async () => {
  const agent = await makeAgent(stack, []);
  const sessionKey = crypto.randomUUID();
  await play(agent.id, [{ text: 'The first answer.' }], { sessionKey, words: 'The first question.' });
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 400, delay_ms: 50 }] }, 'Forget this.'), { sessionKey });
  const reader = watchRun(stack, run.id);
  await until(() => reader.frames.some((frame) => frame.type === 'message.delta'));

  await cancel(run.id, { policy: 'rollback' });
  await endOf(reader, 10_000);
  await play(agent.id, [{ text: 'The last answer.' }], { sessionKey, words: 'The last question.' });

  const prompt = JSON.stringify(promptWith('The last question.'));
  expect(prompt).toContain('The first question.');
  expect(prompt).not.toContain('Forget this.');
  expect(await messagesOf(run.id)).toEqual([]);
  expect((await messagesOf(run.id, '?include_discarded=true')).map((message) => message.state)).toEqual(['discarded', 'discarded']);
  expect((await checkRun(stack, run.id)).run).toMatchObject({ status: 'cancelled', output: null });
});

test('a cancel during a tool: its call gets a result, and the provider accepts the history of the next turn', async () => {
  const tool = writeTool(slugOf('slow'), effects);
  const agent = await makeAgent(stack, [tool]);
  const sessionKey = crypto.randomUUID();
  const before = effects.effects.length;
  effects.onEffect = () => delay(60_000, undefined, { ref: false });
  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ tool_calls: [call(String(tool['slug']), { n: 1 })] }, { text: 'Never.' }] }),
    { sessionKey },
  );
  const reader = watchRun(stack, run.id);
  await until(() => effects.effects.length > before);
  effects.onEffect = null;

  await cancel(run.id);
  await endOf(reader);
  const checked = await checkRun(stack, run.id, { seen: [reader.frames] });
  await play(agent.id, [{ text: 'I go on.' }], { sessionKey, words: 'After the cancel.' });

  expect(checked.faults).toEqual([]);
  expect(checked.run.status).toBe('cancelled');
  expect(dataOf(checked, 'tool.result')).toMatchObject([{ status: 'cancelled' }]);
  expect(effects.effects.length).toBe(before + 1);
  expect(promptWith('After the cancel.').map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
});

test('a run that never stops asking ends with max_steps', async () => {
  const tool = readTool(slugOf('page'), '/again');
  const agent = await makeAgent(stack, [tool], { limits: { max_steps: 3 } });

  const ended = await play(agent.id, [{ tool_calls: [call(tool.slug)] }]);

  expect(ended.run).toMatchObject({ status: 'failed', finish_reason: 'max_steps', error: null, steps: 3 });
  expect(dataOf(ended, 'tool.result').map((data) => data['status'])).toEqual(['succeeded', 'succeeded', 'succeeded']);
});

test('unknown tools and arguments that do not fit are results that the model reads; nothing is executed', async () => {
  const tool = writeTool(slugOf('strict'), effects);
  const slug = String(tool['slug']);
  const agent = await makeAgent(stack, [tool]);
  const before = effects.effects.length;

  const calls = [call('no-such-tool'), call(slug, { n: 'one' }), call(slug, { n: 1, m: 2 }), call(slug, '{"n": 1'), call(slug, '[1]')];
  const ended = await play(agent.id, [{ tool_calls: calls }, { text: 'I see.' }], { words: 'Wrong calls.' });

  expect(ended.run).toMatchObject({ status: 'succeeded', output: { text: 'I see.' } });
  expect(dataOf(ended, 'tool.result').map((data) => (data['error'] as { code: string }).code)).toEqual([
    'tool_unavailable',
    ...Array.from({ length: 4 }, () => 'invalid_arguments'),
  ]);
  expect(effects.effects.length).toBe(before);
  const prompt = promptWith('Wrong calls.');
  expect(prompt.map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'tool', 'tool', 'tool']);
  expect(JSON.stringify(prompt[3])).toContain('There is no tool of this name.');
});

test('parallel calls: reads at once, writes one after another in the order of the model, answers in its order', async () => {
  const write = writeTool(slugOf('write'), effects);
  const read = readTool(slugOf('page'), '/parallel');
  const agent = await makeAgent(stack, [write, read]);
  const before = effects.effects.length;
  effects.onEffect = (count) => delay(count === before + 1 ? 300 : 0);
  const calls = [
    call(String(write['slug']), { n: 1 }),
    call(read.slug, { n: 1 }),
    call(String(write['slug']), { n: 2 }),
    call(read.slug, { n: 2 }),
  ];

  const ended = await play(agent.id, [{ tool_calls: calls }, { text: 'All done.' }], { words: 'In parallel.' });
  effects.onEffect = null;

  expect(ended.run.status).toBe('succeeded');
  expect(effects.effects.slice(before).map((effect) => effect.body)).toEqual(['{"n":1}', '{"n":2}']);
  const calling = promptWith('In parallel.')[2] as { tool_calls: { id: string }[] } | undefined;
  expect(
    promptWith('In parallel.')
      .slice(3)
      .map((message) => Reflect.get(message, 'tool_call_id')),
  ).toEqual(calling?.tool_calls.map((one) => one.id));
});

test('five megabytes of output are cut for the model, which is told so and reads on with result_read', async () => {
  const page = readTool(slugOf('long'), '/long', { response_max_chars: 1_000 });
  const more = { slug: slugOf('more'), kind: 'builtin', description: 'Reads more.', config: { name: 'result_read' } };
  const pause = writeTool(slugOf('pause'), effects);
  const agent = await makeAgent(stack, [page, more, pause]);
  const steps = [{ tool_calls: [call(page.slug)] }, { tool_calls: [call(String(pause['slug']), { n: 1 })] }];
  models.script('reads-on', { steps });
  effects.onEffect = () => {
    const callId = /call_id\W+([0-9a-f-]{36})/.exec(JSON.stringify(promptWith('[script:reads-on]').at(-1)))?.[1];
    models.script('reads-on', {
      steps: [...steps, { tool_calls: [call(more.slug, { call_id: callId, offset: 900_000 })] }, { text: 'I have read it.' }],
    });
  };
  const run = await startRun(stack, agent.id, 'Read it all: [script:reads-on]');
  const frames = await endOf(watchRun(stack, run.id));
  effects.onEffect = null;
  const checked = await checkRun(stack, run.id, { seen: [frames] });

  expect(checked.faults).toEqual([]);
  expect(checked.run).toMatchObject({ status: 'succeeded', output: { text: 'I have read it.' } });
  const [cut, , read] = dataOf(checked, 'tool.result');
  expect(cut).toMatchObject({ status: 'succeeded', truncated: true, total_chars: 5_000_000 });
  expect(String(cut?.['output'])).toHaveLength(1_000);
  expect(String(read?.['output'])).toMatch(/^#00090000\n#00090001\n/);
});

test('a conversation of three turns carries its history, tool calls included', async () => {
  const tool = readTool(slugOf('page'), '/history');
  const agent = await makeAgent(stack, [tool], { instructions: 'You are the test.' });
  const sessionKey = crypto.randomUUID();

  await play(agent.id, [{ text: 'Answer one.' }], { sessionKey, words: 'Question one.' });
  await play(agent.id, [{ tool_calls: [call(tool.slug, { n: 2 })] }, { text: 'Answer two.' }], { sessionKey, words: 'Question two.' });
  await play(agent.id, [{ text: 'Answer three.' }], { sessionKey, words: 'Question three.' });

  const prompt = promptWith('Question three.');
  expect(prompt.map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'tool', 'assistant', 'user']);
  const texts = [
    'You are the test.',
    'Question one.',
    'Answer one.',
    'Question two.',
    tool.slug,
    'page /history',
    'Answer two.',
    'Question three.',
  ];
  texts.forEach((text, at) => expect(JSON.stringify(prompt[at])).toContain(text));
});

test('a second run of a conversation waits for the first and knows its answer', async () => {
  const agent = await makeAgent(stack, []);
  const sessionKey = crypto.randomUUID();

  const first = await startRun(stack, agent.id, scripted({ steps: [{ text: 'I was first.', delay_ms: 300 }] }), { sessionKey });
  const second = await startRun(stack, agent.id, scripted({ steps: [{ text: 'I was second.' }] }, 'The second in line.'), { sessionKey });
  const readers = [watchRun(stack, first.id), watchRun(stack, second.id)];
  const queued = (await stack.request('GET', `/runs/${second.id}`)).body as { status: string; queue_position: number };
  await Promise.all(readers.map((reader) => endOf(reader)));
  const [one, two] = await Promise.all([first, second].map((run, n) => checkRun(stack, run.id, { seen: [readers[n]?.frames ?? []] })));

  expect(queued).toMatchObject({ status: 'queued', queue_position: 1 });
  expect([...(one?.faults ?? []), ...(two?.faults ?? [])]).toEqual([]);
  expect(JSON.stringify(promptWith('The second in line.'))).toContain('I was first.');
  const endOfFirst = JSON.parse(one?.frames.at(-1)?.text ?? '{}') as { ts: string };
  const startOfSecond = JSON.parse(two?.frames.find((frame) => frame.type === 'run.started')?.text ?? '{}') as { ts: string };
  expect(startOfSecond.ts >= endOfFirst.ts).toBe(true);
});
