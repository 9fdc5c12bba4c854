import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { ToolContext } from '../../../clients/typescript/src/index.ts';
import { makeAgent, scripted, writeTool } from '../../support/scenario.ts';
import { until } from '../../support/temporal.ts';
import { startClientWorld, unique, type ClientWorld } from './client-world.ts';

let world: ClientWorld;

beforeAll(async () => {
  world = await startClientWorld();
});

beforeEach(() => world.proxy.reset());

afterAll(() => world?.stop());

const call = (name: string, n = 1) => ({ name, arguments: { n } });
const steps = (...list: object[]) => ({ text: scripted({ steps: list as never }, `Go ${crypto.randomUUID()}.`) }); // the script's own steps

/** A run whose model calls a client-owned tool with each of these numbers at once. */
async function clientRun(numbers: readonly number[], tool: Record<string, unknown> = {}, document: Record<string, unknown> = {}) {
  const slug = unique('mine');
  const agent = await makeAgent(world.stack, [writeTool(slug, world.effects, { client_owned: true, timeout_s: 600, ...tool })], document);
  const input = steps({ tool_calls: numbers.map((n) => call(slug, n)) }, { text: 'Done.' });
  return { slug, run: await world.longhaul.start({ agent_id: agent.id, input }) };
}

async function askingRun(n = 7) {
  const slug = unique('ask');
  const agent = await makeAgent(world.stack, [writeTool(slug, world.effects)], { approvals: { write: 'ask' } });
  const run = await world.longhaul.start({ agent_id: agent.id, input: steps({ tool_calls: [call(slug, n)] }, { text: 'So be it.' }) });
  return { slug, run, effects: () => world.effects.effects.filter(({ path }) => path === `/${slug}`) };
}

test('calls of a client tool are executed once each, and their results reach the model', async () => {
  const { slug, run } = await clientRun([1, 2]);
  const seen: { n: unknown; callId: string }[] = [];

  const ended = await run.result({ tools: { [slug]: (args, { callId }) => void seen.push({ n: args['n'], callId }) } });
  const results = (await world.longhaul.listRunSteps({ run_id: run.id })).items;

  expect(ended.output?.text).toBe('Done.');
  expect(seen.map(({ n }) => n).toSorted()).toEqual([1, 2]);
  expect(new Set(seen.map(({ callId }) => callId)).size).toBe(2);
  expect(JSON.stringify(results)).toContain(seen[0]?.callId);
});

test('a tool that throws has failed with its message, also where the reply to it was lost', async () => {
  const { slug, run } = await clientRun([1]);
  world.proxy.decide = ({ path }, nth) => (path.endsWith('/input') && nth === 1 ? 'lose' : 'pass');
  const results: unknown[] = [];

  const tools = {
    [slug]: () => {
      throw new Error('the shelf is empty');
    },
  };
  const callIds: string[] = [];
  for await (const frame of run.frames({ tools })) {
    if (frame.type !== 'tool.result') continue;
    results.push(frame.data);
    callIds.push(frame.data.tool_call_id);
  }

  expect(results).toEqual([
    expect.objectContaining({
      status: 'failed',
      error: expect.objectContaining({ message: expect.stringContaining('the shelf is empty') }),
    }),
  ]);
  const sent = world.proxy.passed.filter(({ path }) => path.endsWith('/input'));
  expect(new Set(sent.map(({ headers }) => headers['idempotency-key']))).toEqual(new Set([`tool:${callIds[0]}`]));
});

test('a replay of an ended run executes nothing again, nor asks', async () => {
  const { slug, run } = await clientRun([1]);
  await run.result({ tools: { [slug]: () => 'once' } });
  let again = 0;

  for await (const _ of world
    .client()
    .run(run.id)
    .frames({ tools: { [slug]: () => again++ }, onApproval: () => void again++ as never }));

  expect(again).toBe(0);
});

test('a call without a function here is left to others', async () => {
  const { slug, run } = await clientRun([1]);
  const here = run.result({ tools: { another: () => 'x' } });
  await until(async () => (await run.wait()).pending_tool_calls?.length === 1);

  await world
    .client()
    .run(run.id)
    .result({ tools: { [slug]: () => 'by the other' } });

  expect((await here).status).toBe('succeeded');
});

test('a cancelled run aborts the signal of its tools', async () => {
  const { slug, run } = await clientRun([1]);
  let context: ToolContext | null = null;
  const tool = (_: unknown, given: ToolContext) => {
    context = given;
    return new Promise((resolve) => given.signal.addEventListener('abort', resolve));
  };
  const result = run.result({ tools: { [slug]: tool } }).catch((error: unknown) => error);
  await until(() => context !== null);

  await run.cancel();

  expect(await result).toMatchObject({ name: 'RunFailed' });
  expect(context).toMatchObject({ signal: { aborted: true } });
});

test('a process killed after its work gets the same call again: its own ledger makes one result of it', async () => {
  const { slug, run } = await clientRun([5]);
  world.proxy.decide = ({ path }) => (path.endsWith('/input') ? 'hang' : 'pass');
  const script = join(import.meta.dirname, 'worker.mjs');
  const input = { baseUrl: world.proxy.url, serviceKey: world.stack.tenant.serviceKey.plaintext, runId: run.id, slug };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(input));
  let ledger = '';
  child.stdout.on('data', (bytes: Buffer) => (ledger += bytes.toString()));
  await until(() => world.proxy.passed.some(({ path }) => path.endsWith('/input')));
  child.kill('SIGKILL');
  world.proxy.reset();

  const done: string[] = [];
  const tools = { [slug]: (_: unknown, { callId }: ToolContext) => (ledger.includes(callId) ? 'from the ledger' : done.push(callId)) };
  const ended = await world.client().run(run.id).result({ tools });

  expect(ended.status).toBe('succeeded');
  expect(ledger.trim()).toMatch(/^[0-9a-f-]{36}$/);
  expect(done).toEqual([]);
});

test('an answer is asked for once and sent with the hash of what was shown', async () => {
  const { run, effects } = await askingRun();
  const asked: unknown[] = [];

  const ended = await run.result({
    onApproval: (question) => {
      asked.push(question.args);
      return { decision: 'approve' };
    },
  });

  expect(ended.status).toBe('succeeded');
  expect(asked).toEqual([{ n: 7 }]);
  expect(effects()).toHaveLength(1);
});

test('edited arguments run, a rejection reaches the model, and null leaves the question to others', async () => {
  const edited = await askingRun();
  await edited.run.result({ onApproval: () => ({ decision: 'edit', edited_args: { n: 8 } }) });
  const rejected = await askingRun();
  await rejected.run.result({ onApproval: () => ({ decision: 'reject', comment: 'No.' }) });
  const left = await askingRun();
  const here = left.run.result({ onApproval: () => null });
  await world
    .client()
    .run(left.run.id)
    .result({ onApproval: () => ({ decision: 'approve' }) });

  expect(edited.effects().map(({ body }) => JSON.parse(body))).toEqual([{ n: 8 }]);
  expect(rejected.effects()).toEqual([]);
  expect((await here).status).toBe('succeeded');
});

test('a question that somebody else has resolved meanwhile is no error', async () => {
  const { run, effects } = await askingRun();

  const ended = await run.result({
    onApproval: async (question) => {
      await world.longhaul.resolveRunApprovals({
        run_id: run.id,
        resolutions: [{ approval_id: question.id, decision: 'reject', comment: 'No.' }],
      });
      return { decision: 'approve' };
    },
  });

  expect(ended.status).toBe('succeeded');
  expect(effects()).toEqual([]);
});

test('what the function for questions throws ends the loop, although the run waits', async () => {
  const { run } = await askingRun();
  const fault = new Error('nobody is here');

  await expect(
    run.result({
      onApproval: () => {
        throw fault;
      },
    }),
  ).rejects.toBe(fault);

  await run.cancel();
});
