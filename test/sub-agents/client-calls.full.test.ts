import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Pending } from '../approvals/client-run.ts';
import { created, startRun, writeTool } from '../support/scenario.ts';
import { asking, familyFaults, familyOf, makeNamed, playing, startFamilyStack, type FamilyStack } from './family.ts';

let world: FamilyStack;

beforeAll(async () => {
  world = await startFamilyStack();
});

afterAll(() => world?.close());

interface Run {
  readonly id: string;
  readonly status: string;
  readonly waiting_on: string | null;
  readonly pending_tool_calls: readonly Pending[];
  readonly output: { readonly text: string } | null;
}

/** An agent two of whose sub-agents, at depth 2, each give a call to their client; its request as `POST /runs` takes it. */
async function askingBelow(): Promise<{ agent_id: string; input: { text: string } }> {
  const { stack, models, effects } = world;
  const slug = `client-${crypto.randomUUID().slice(0, 8)}`;
  const tool = await created(stack, '/tools', writeTool(slug, effects, { client_owned: true, timeout_s: 600 }));
  const leaf = await makeNamed(stack, { tools: [{ id: tool.id }] });
  const middle = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const top = await makeNamed(stack, { sub_agents: [{ id: middle.id }] });
  const leafTask = (n: number) => playing(models, [asking([slug, { n }]), { text: `Leaf ${n}.` }]);
  const middleTask = playing(models, [asking([leaf, leafTask(1)], [leaf, leafTask(2)]), { text: 'Middle.' }]);
  return { agent_id: top.id, input: { text: playing(models, [asking([middle, middleTask]), { text: 'Top.' }]) } };
}

/** What a client knows of a run without its stream, and how it gives results: over HTTP or as tools of MCP. */
interface Api {
  wait(runId: string): Promise<Run>;
  give(runId: string, results: readonly object[]): Promise<void>;
}

const overHttp: Api = {
  wait: async (runId) => (await world.stack.request('GET', `/runs/${runId}/wait?timeout_s=5`)).body,
  async give(runId, results) {
    const given = await world.stack.request('POST', `/runs/${runId}/input`, { body: { kind: 'tool_results', results } });
    expect(given).toMatchObject({ status: 202 });
  },
};

const isOver = (run: Run) => ['succeeded', 'failed', 'cancelled'].includes(run.status);
const resultOf = (call: Pending) => ({ tool_call_id: call.tool_call_id, status: 'succeeded', output: { done: call.args?.['n'] } });

/** Waits until a run waits for so many calls of its client, which are all that it has. */
async function untilPending(api: Api, runId: string, count: number): Promise<Run> {
  let run = await api.wait(runId);
  while (!isOver(run) && run.pending_tool_calls.length < count) run = await api.wait(runId);
  return run;
}

/** Executes whatever a run gives to its client until it has ended; gives its end and what was executed. */
async function executeAll(api: Api, runId: string): Promise<{ end: Run; executed: readonly Pending[] }> {
  const executed: Pending[] = [];
  let end = await api.wait(runId);
  while (!isOver(end)) {
    const calls = end.pending_tool_calls;
    if (calls.length > 0) await api.give(runId, calls.map(resultOf));
    executed.push(...calls);
    end = await api.wait(runId);
  }
  return { end, executed };
}

async function expectWhole(runId: string, { end, executed }: Awaited<ReturnType<typeof executeAll>>): Promise<void> {
  expect(end).toMatchObject({ status: 'succeeded', output: { text: 'Top.' }, pending_tool_calls: [] });
  expect(executed.map((call) => call.args?.['n']).toSorted()).toEqual([1, 2]);
  expect(await familyFaults(world.stack, runId)).toEqual([]);
}

test('a client that only polls the root executes what sub-agents at depth 2 ask of it, although the worker was killed while they waited', async () => {
  const { stack, effects } = world;
  const body = await askingBelow();
  const run = await startRun(stack, body.agent_id, body.input.text);

  const waiting = await untilPending(overHttp, run.id, 2);
  await stack.kill('worker-runs');
  const meanwhile = await overHttp.wait(run.id);
  const [first, second] = waiting.pending_tool_calls;
  await overHttp.give(run.id, first ? [resultOf(first)] : []);
  await stack.start('worker-runs');
  const done = await executeAll(overHttp, run.id);

  const family = await familyOf(stack, run.id);
  const leaves = family.filter(({ depth }) => depth === 2).map(({ id }) => id);
  expect(waiting.pending_tool_calls.map((call) => call.run_id).toSorted()).toEqual(leaves.toSorted());
  expect(meanwhile.pending_tool_calls).toEqual(waiting.pending_tool_calls);
  expect(done.executed.map((call) => call.tool_call_id)).toEqual([second?.tool_call_id]);
  await expectWhole(run.id, { ...done, executed: [...(first ? [first] : []), ...done.executed] });
  expect(effects.effects).toEqual([]);
});

test('a start with mode wait comes back with the calls, for the client that waits for it', async () => {
  const { stack } = world;
  const body = await askingBelow();

  let run: Run = (await stack.request('POST', '/runs', { body: { ...body, mode: 'wait' } })).body;
  if (run.pending_tool_calls.length === 0) run = await untilPending(overHttp, run.id, 1);
  const done = await executeAll(overHttp, run.id);

  expect(run.pending_tool_calls).toContainEqual(expect.objectContaining({ args: expect.objectContaining({ n: expect.any(Number) }) }));
  await expectWhole(run.id, done);
});

test('a client of MCP starts a run, executes its calls and reads its answer by tools alone', async () => {
  const { stack } = world;
  const headers = { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` };
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${stack.url()}/mcp`), { requestInit: { headers } }));
  const call = async (name: string, args: Record<string, unknown>) => {
    const answer = await client.callTool({ name, arguments: args });
    expect([name, answer.isError]).toEqual([name, undefined]);
    return answer.structuredContent as unknown as Run;
  };
  const overMcp: Api = {
    wait: (runId) => call('waitForRun', { run_id: runId, timeout_s: 5 }),
    async give(runId, results) {
      await call('addRunInput', { run_id: runId, kind: 'tool_results', results });
    },
  };

  const run = await call('createRun', { ...(await askingBelow()), mode: 'wait', wait_timeout_s: 30 });
  const done = await executeAll(overMcp, run.id);
  await client.close();

  await expectWhole(run.id, done);
});
