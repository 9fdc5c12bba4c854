import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type Fault, type ModelServer, type ScriptStep } from '../fakes/model-server.ts';
import { checkRun, endOf, watchRun, type Checked } from '../support/run-checks.ts';
import { makeAgent, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';

const status = (code: number, headers: Record<string, string> = {}): Fault => ({ kind: 'status', status: code, headers });
const atOnce = { 'retry-after': '0' };
const answer = { tokens: 12, delay_ms: 5 };

/** What each model of the test's registry does; its name is its script's. */
const behaviours = {
  good: { ...answer },
  limited: { ...answer, faults: [status(429, { 'retry-after': '2' })] },
  flaky: { ...answer, faults: [status(500), status(529, { 'retry-after-ms': '50' })] },
  cut: { ...answer, faults: [{ kind: 'reset', after: 5 }] },
  garbled: { ...answer, faults: [{ kind: 'garbage', after: 4 }] },
  unfinished: { ...answer, faults: [{ kind: 'no_finish', after: 12 }] },
  broken_off: { ...answer, faults: [{ kind: 'error_frame', after: 4 }] },
  silent: { ...answer, faults: [{ kind: 'hang', after: 3 }] },
  dripping: { ...answer, faults: [{ kind: 'drip' }] },
  proxied: { ...answer, faults: [{ kind: 'html' }] },
  unreachable: { ...answer, faults: [{ kind: 'refuse' }] },
  down: { fault: status(503, atOnce) },
  down_too: { fault: status(503, atOnce) },
  left_open: { ...answer, afterwards: 'open' },
  reset_late: { ...answer, afterwards: 'reset' },
  detail_404: { raw: { status: 404, content_type: 'application/json', body: '{"detail":"Not Found"}' } },
  text_400: { raw: { status: 400, body: 'temperature must be below two' } },
  told_200: { raw: { content_type: 'application/json', body: '{"error":"model \\"told\\" not found, try pulling it first"}' } },
  told_403: { raw: { body: 'data: {"error":{"message":"not in your country","code":403}}\n\n', afterwards: 'open' } },
  denied: { fault: status(401) },
  refusing: { refusal: 'I will not do that.' },
  endless: { ...answer, finish_reason: 'length' },
} satisfies Record<string, ScriptStep>;
type Model = keyof typeof behaviours;

let models: ModelServer;
let stack: Stack;
let folder: string;
const ended = new Map<Model, Promise<Checked>>();

beforeAll(async () => {
  models = await startModelServer();
  for (const [name, step] of Object.entries(behaviours)) models.script(name, { steps: [step] });
  models.script('narrow', { steps: [...Array.from({ length: 12 }, wordyStep), { text: 'Done.', limit_tokens: 4_000 }] });
  folder = mkdtempSync(join(tmpdir(), 'longhaul-models-'));
  writeFileSync(join(folder, 'registry.json'), JSON.stringify(registryOf(models.baseUrl)));
  stack = await startStack({ processes: ['api', 'worker-runs'], env: { LONGHAUL_MODEL_REGISTRY: join(folder, 'registry.json') } });
  // Started one by one, so that no crowd of requests is refused; then all at once: most of their time is waiting.
  for (const name of Object.keys(behaviours) as Model[]) {
    const runId = await start(name);
    ended.set(name, follow(runId));
  }
  await Promise.allSettled(ended.values());
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A call with arguments of 3 KB, of a server whose context is 4,000 tokens. */
function wordyStep(_: unknown, n: number): ScriptStep {
  return { tool_calls: [{ name: 'write_down', arguments: { n, body: 'a'.repeat(3_000) } }], limit_tokens: 4_000 };
}

function registryOf(baseUrl: string): object {
  const capabilities = { tools: true, parallel_tools: true, json: 'tool', reasoning: true, image: false, pdf: false, audio: false };
  const defaults = { context_window: 100_000, capabilities, first_token_s: 4, idle_s: 3 };
  return {
    providers: [{ id: 'fake', adapter: 'openai_compatible', base_url: baseUrl, default_model: 'good', model_defaults: defaults }],
    models: [
      ...Object.keys(behaviours).map((name) => ({ provider: 'fake', name })),
      { provider: 'fake', name: 'narrow', context_window: 4_000 },
    ],
  };
}

/** One run of an agent on that model; `down` alone has a fallback that works. */
async function start(model: Model): Promise<string> {
  const fallbacks: Partial<Record<Model, string[]>> = { down: ['fake/good'], down_too: ['fake/down'], denied: ['fake/good'] };
  const agent = await makeAgent(stack, [], { model: `fake/${model}`, fallback_models: fallbacks[model] ?? [] });
  return (await startRun(stack, agent.id, `Say something, ${model}.`)).id;
}

async function follow(runId: string): Promise<Checked> {
  const frames = await endOf(watchRun(stack, runId));
  return checkRun(stack, runId, { seen: [frames] });
}

async function resultOf(model: Model) {
  const checked = await ended.get(model);
  if (!checked) throw new Error('it was never started');
  const dataOf = (type: string) => checked.frames.filter((frame) => frame.type === type).map((frame) => frame.data);
  const retries = dataOf('run.status').flatMap((data) =>
    data['retry']
      ? [{ ...(data['retry'] as { cause: string; delay_ms: number }), discarded: (data['discarded_message_ids'] as string[]).length }]
      : [],
  );
  const said = dataOf('message.completed').filter((data) => data['role'] === 'assistant');
  const calls = models.calls().filter((call) => JSON.stringify(call.body).includes(`Say something, ${model}.`));
  return { ...checked, retries, said, calls, text: checked.run.output?.text?.trim() };
}

const whole = Array.from({ length: 12 }, (_, n) => `t${n}`).join(' ');

test.each([
  ['limited', 'rate_limited', 0],
  ['cut', 'upstream_error', 1],
  ['garbled', 'upstream_error', 1],
  ['unfinished', 'upstream_error', 1],
  ['broken_off', 'upstream_error', 1],
  ['silent', 'timeout', 1],
  ['dripping', 'timeout', 0],
  ['proxied', 'upstream_error', 0],
  ['unreachable', 'upstream_error', 0],
] as const)('a model that fails once (%s) is asked again, and only the whole answer counts', async (model, cause, discarded) => {
  const { faults, run, retries, said, calls, text } = await resultOf(model);

  expect(faults).toEqual([]);
  expect(run).toMatchObject({ status: 'succeeded', finish_reason: 'stop', steps: 1 });
  expect(text).toBe(whole);
  expect(said).toHaveLength(1);
  expect(retries).toMatchObject([{ cause, discarded }]);
  expect(calls).toHaveLength(2);
});

test.each(['left_open', 'reset_late'] as const)(
  'an answer that is whole is asked for and paid once, however its connection ends (%s)',
  async (model) => {
    const { faults, run, retries, calls, text } = await resultOf(model);

    expect(faults).toEqual([]);
    expect(run).toMatchObject({ status: 'succeeded', usage: { own: { model_calls: 1, estimated: false } } });
    expect([text, calls.length, retries]).toEqual([whole, 1, []]);
  },
);

test.each([
  ['detail_404', 'Not Found'],
  ['text_400', 'temperature must be below two'],
  ['told_200', 'not found, try pulling it first'],
  ['told_403', 'not in your country'],
] as const)(
  'a provider that refuses is asked once, and run, step and frame hold its sentence and no hope (%s)',
  async (model, sentence) => {
    const { faults, run, frames, calls } = await resultOf(model);
    const { body }: { body: { items: object[] } } = await stack.request('GET', `/runs/${run.id}/steps`);

    expect(faults).toEqual([]);
    expect(calls).toHaveLength(1);
    const told = { message: expect.stringContaining(sentence), retryable: false };
    expect(run).toMatchObject({ status: 'failed', error: { code: 'upstream_failed', ...told } });
    expect(frames.at(-1)).toMatchObject({ type: 'run.finished', data: { error: told } });
    expect(body.items).toMatchObject([{ status: 'failed', error: told }]);
  },
);

test('Retry-After is waited for; without it the pause doubles', async () => {
  const [limited, flaky] = await Promise.all([resultOf('limited'), resultOf('flaky')]);

  expect(limited.retries).toMatchObject([{ delay_ms: 2_000 }]);
  expect(flaky.faults).toEqual([]);
  expect(flaky.run.status).toBe('succeeded');
  expect(flaky.calls).toHaveLength(3);
  expect(flaky.retries).toMatchObject([{ cause: 'upstream_error', delay_ms: 50 }]);
});

test('what a cut answer had produced is in the ledger, estimated, beside the whole one', async () => {
  const { run } = await resultOf('cut');

  expect(run.usage.own).toMatchObject({ model_calls: 2, estimated: true });
});

test('a model that stays unavailable is given up after four tries, for the fallback', async () => {
  const { faults, run, said, calls } = await resultOf('down');

  expect(faults).toEqual([]);
  expect(run).toMatchObject({ status: 'succeeded', finish_reason: 'stop' });
  expect(calls.map((call) => call.model)).toEqual(['down', 'down', 'down', 'down', 'good']);
  expect(said).toMatchObject([{ model: 'fake/good' }]);
});

test('when the last fallback is used up too, the run fails and says why', async () => {
  const { faults, run, calls } = await resultOf('down_too');

  expect(faults).toEqual([]);
  expect(calls.map((call) => call.model)).toEqual([
    ...Array.from({ length: 4 }, () => 'down_too'),
    ...Array.from({ length: 4 }, () => 'down'),
  ]);
  expect(run).toMatchObject({
    status: 'failed',
    finish_reason: 'error',
    output: null,
    error: { code: 'upstream_failed', reason: 'unavailable', retryable: true },
  });
});

test('a refused key is not tried again, nor is the fallback', async () => {
  const { faults, run, calls } = await resultOf('denied');

  expect(faults).toEqual([]);
  expect(calls).toHaveLength(1);
  expect(run).toMatchObject({ status: 'failed', error: { code: 'upstream_failed', reason: 'auth_refused', retryable: false } });
});

test('a refusal and a cut-off answer end the run as what they are, with what was said', async () => {
  const [refusing, endless] = await Promise.all([resultOf('refusing'), resultOf('endless')]);

  expect([...refusing.faults, ...endless.faults]).toEqual([]);
  expect(refusing.run).toMatchObject({ status: 'failed', finish_reason: 'refused', error: null });
  expect(refusing.said).toMatchObject([{ stop_reason: 'refused', content: [{ type: 'refusal', text: 'I will not do that.' }] }]);
  expect(endless.run).toMatchObject({ status: 'failed', finish_reason: 'max_output', error: null });
  expect(endless.text).toBe(whole);
});

test('a run of many steps with long arguments fits a window of 4,000 tokens to its end, without a refused request', async () => {
  const agent = await makeAgent(stack, [], { model: 'fake/narrow' });
  const run = await startRun(stack, agent.id, 'Write it all down, narrow.');

  const frames = await endOf(watchRun(stack, run.id));

  const calls = models.calls().filter((call) => call.model === 'narrow');
  expect(frames.at(-1)?.data).toMatchObject({ status: 'succeeded', steps: 13, output: { text: 'Done.' } });
  expect(calls).toHaveLength(13);
  expect(Math.max(...calls.map((call) => call.promptTokens))).toBeLessThanOrEqual(4_000);
});
