import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { hasStrictIsolation } from '../../ports/sandbox/sandbox.ts';
import { childrenOf, usageOf } from '../../ports/sandbox/watch.ts';
import { startModelServer, type ModelServer, type ScriptStep } from '../fakes/model-server.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

const whereStrict = (await hasStrictIsolation()) ? test : test.skip;
let models: ModelServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

function codeTool(config: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  const slug = `code-${crypto.randomUUID().slice(0, 8)}`;
  return { slug, kind: 'code_exec', description: 'Runs a program.', config: { language: 'javascript', ...config }, timeout_s: 30, ...more };
}

/** Starts a run whose model calls a tool once and then says so. */
async function begin(tool: ReturnType<typeof codeTool>, args: unknown) {
  const agent = await makeAgent(stack, [tool]);
  const steps: ScriptStep[] = [{ tool_calls: [{ name: tool.slug, arguments: args }] }, { text: 'Done.' }];
  const run = await startRun(stack, agent.id, scripted({ steps }, `Play ${crypto.randomUUID()}.`));
  return { run, reader: watchRun(stack, run.id) };
}

async function play(tool: ReturnType<typeof codeTool>, args: unknown) {
  const { run, reader } = await begin(tool, args);
  const frames = await endOf(reader);
  const checked = await checkRun(stack, run.id, { seen: [frames] });
  expect(checked.faults).toEqual([]);
  return { result: frames.find((frame) => frame.type === 'tool.result')?.data, run: checked.run };
}

/** Processes that a worker has started, however deep. */
function descendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    return children.flatMap((child) => [child, ...descendants(child)]);
  } catch {
    return [];
  }
}

const cpuMsBelow = (pid: number) => childrenOf(pid).reduce((sum, child) => sum + usageOf(child).cpuMs, 0);

/** Alive and no zombie. */
function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1') !== '';
  } catch {
    return false;
  }
}

const busy = (ms: number) => `const end = Date.now() + ${ms}; while (Date.now() < end); "finished"`;

test('a program that the model sends gives its value and what it printed', async () => {
  const { result, run } = await play(codeTool(), {
    code: 'console.log("sum of", input.length); input.reduce((a, b) => a + b)',
    input: [1, 2, 39],
  });

  expect(result).toMatchObject({ status: 'succeeded', output: { value: 42, console: 'sum of 3' } });
  expect(run).toMatchObject({ status: 'succeeded' });
});

test("a fixed program takes the arguments of its author's own schema", async () => {
  const input_schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false };
  const { result } = await play(codeTool({ source: 'input.n ** 2' }, { input_schema }), { n: 12 });

  expect(result).toMatchObject({ status: 'succeeded', output: { value: 144, console: '' } });
});

test.each([
  ['an endless loop', 'for (;;) {}', { code: 'sandbox_limit', retryable: false }],
  ['a memory hog', 'const all = []; for (;;) all.push(new Array(1e4).fill(1.5))', { code: 'sandbox_limit', retryable: false }],
  ['its own error', 'undefined.x', { code: 'invalid_arguments', message: expect.stringContaining('TypeError') }],
])('%s is a result for the model, and the run goes on', async (_title, code, error) => {
  const { result, run } = await play(codeTool({ cpu_ms: 500, memory_mb: 16 }), { code });

  expect(result).toMatchObject({ status: 'failed', error });
  expect(run).toMatchObject({ status: 'succeeded' });
});

test('a cancelled run kills its program long before its end', async () => {
  const { reader, run } = await begin(codeTool({ cpu_ms: 60_000 }), { code: busy(60_000) });
  await until(() => descendants(stack.pid('worker-runs')).length > 0);

  const at = Date.now();
  await stack.request('POST', `/runs/${run.id}/cancel`, { body: {} });
  const frames = await endOf(reader);

  expect(Date.now() - at).toBeLessThan(30_000); // it is allowed 60 s
  expect(frames.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'cancelled' } });
  await new Promise((resolve) => setTimeout(resolve, 500)); // the children that are started in advance come up
  const before = cpuMsBelow(stack.pid('worker-runs'));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(cpuMsBelow(stack.pid('worker-runs')) - before).toBeLessThan(200); // nothing is busy any more
});

test('a worker killed while a program runs: it is run again, the outcome is the same, and no program is left', async () => {
  const { reader, run } = await begin(codeTool({ cpu_ms: 20_000 }), { code: busy(4_000) });
  await until(() => descendants(stack.pid('worker-runs')).length > 0);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const programs = descendants(stack.pid('worker-runs'));

  await stack.kill('worker-runs');
  await stack.start('worker-runs');
  const frames = await endOf(reader);

  const checked = await checkRun(stack, run.id, { seen: [frames] });
  expect(checked.faults).toEqual([]);
  expect(frames.filter((frame) => frame.type === 'tool.result').map((frame) => frame.data)).toMatchObject([
    { status: 'succeeded', output: { value: 'finished' } },
  ]);
  await until(() => programs.filter(isAlive).length === 0, 25_000);
});

whereStrict('a fork bomb in a run is a failed result, and nothing of it is left', async () => {
  const code = 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass';
  const { result, run } = await play(codeTool({ language: 'python', isolation: 'strict', cpu_ms: 1_500 }), { code });

  expect(result).toMatchObject({ status: 'failed', error: { code: 'sandbox_limit' } });
  expect(run).toMatchObject({ status: 'succeeded' });
  await until(
    () => descendants(stack.pid('worker-runs')).every((pid) => !readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('fork')),
    5_000,
  );
});

whereStrict('a program in strict isolation reaches no network', async () => {
  const code = 'import socket\nsocket.create_connection(("127.0.0.1", 80), 1)';
  const { result } = await play(codeTool({ language: 'python', isolation: 'strict' }), { code });

  expect(result).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_arguments', message: expect.stringContaining('PermissionError') },
  });
});

test('capabilities tell what code this deployment runs', async () => {
  const { body } = await stack.request('GET', '/capabilities');

  expect(body).toMatchObject({ features: { code_exec: true, code_exec_strict: await hasStrictIsolation() } });
});
