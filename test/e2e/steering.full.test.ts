import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkRun, endOf, watchRun, type Checked } from '../support/run-checks.ts';
import { makeAgent, scripted, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';

let scenario: Scenario;
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ effects, stack } = scenario);
});

afterAll(() => scenario?.stop());

type Body = Record<string, unknown> & { id: string };

async function start(agentId: string, text: string, more: object = {}): Promise<{ status: number; body: Body }> {
  return stack.request('POST', '/runs', { body: { agent_id: agentId, input: { text }, ...more } });
}
const read = async (runId: string): Promise<Body> => (await stack.request('GET', `/runs/${runId}`)).body;
const addMessage = (runId: string, text: string) => stack.request('POST', `/runs/${runId}/input`, { body: { kind: 'message', text } });

/** Waits for the end of a run and holds it against every promise. */
async function ended(runId: string): Promise<Checked> {
  const frames = await endOf(watchRun(stack, runId));
  const checked = await checkRun(stack, runId, { seen: [frames] });
  expect(checked.faults).toEqual([]);
  return checked;
}

const slow = () => scripted({ steps: [{ tokens: 60, delay_ms: 50 }] }, `Count ${crypto.randomUUID()}.`);
const speaks = (runId: string) => {
  const reader = watchRun(stack, runId);
  return until(() => reader.frames.some((frame) => frame.type === 'message.delta'));
};
const workflowOf = (id: string) => stack.temporal.client.workflow.getHandle(id).describe();

test('a message to a streaming run: it takes another step instead of ending, and answers the message', async () => {
  const agent = await makeAgent(stack, []);
  const run = (await start(agent.id, slow())).body;
  await speaks(run.id);

  expect((await addMessage(run.id, scripted({ steps: [{ text: 'Steered.' }] }, 'Now this.'))).status).toBe(202);
  const { run: end, frames } = await ended(run.id);

  expect(end).toMatchObject({ status: 'succeeded', steps: 2, output: { text: 'Steered.' } });
  expect(frames.filter((frame) => frame.type === 'message.completed').map((frame) => frame.data['role'])).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
});

test('a message during a tool is read by the next model call, in front of nothing and behind its result', async () => {
  const tool = writeTool(`write-${crypto.randomUUID().slice(0, 8)}`, effects);
  const agent = await makeAgent(stack, [tool]);
  let added: Promise<unknown> = Promise.resolve();
  const run = (
    await start(
      agent.id,
      scripted({ steps: [{ tool_calls: [{ name: String(tool['slug']), arguments: { n: 1 } }] }, { text: 'Unsteered.' }] }),
    )
  ).body;
  effects.onEffect = async () => {
    effects.onEffect = null;
    added = addMessage(run.id, scripted({ steps: [{ text: 'Steered.' }] }));
    await added;
  };

  const { run: end } = await ended(run.id);
  await added;

  expect(end).toMatchObject({ status: 'succeeded', steps: 2, output: { text: 'Steered.' } });
  const { items } = (await stack.request('GET', `/runs/${run.id}/messages`)).body as { items: { role: string }[] };
  expect(items.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
});

test.each(['interrupt', 'rollback'] as const)(
  '%s: the streaming run ends as superseded, the new one follows and the provider accepts it',
  async (onBusy) => {
    const agent = await makeAgent(stack, []);
    const sessionKey = crypto.randomUUID();
    const first = (await start(agent.id, slow(), { session_key: sessionKey })).body;
    await speaks(first.id);

    const second = (await start(agent.id, scripted({ steps: [{ text: 'Me now.' }] }), { session_key: sessionKey, on_busy: onBusy })).body;
    const [old, next] = [await ended(first.id), await ended(second.id)];

    expect(old.run).toMatchObject({ status: 'cancelled', finish_reason: 'superseded' });
    expect(next.run).toMatchObject({ status: 'succeeded', output: { text: 'Me now.' } });
    const { items } = (await stack.request('GET', `/runs/${second.id}/messages?scope=conversation`)).body as {
      items: { run_id: string }[];
    };
    expect(items.some((message) => message.run_id === first.id)).toBe(onBusy === 'interrupt');
  },
);

test('a delayed run starts at its time, by itself', async () => {
  const agent = await makeAgent(stack, []);
  const startAfter = new Date(Date.now() + 2_500);
  const run = (await start(agent.id, scripted({ steps: [{ text: 'Later.' }] }), { start_after: startAfter.toISOString() })).body;

  const { run: end } = await ended(run.id);

  expect(end).toMatchObject({ status: 'succeeded', output: { text: 'Later.' } });
  const { started_at: startedAt } = await read(run.id);
  expect(Date.parse(String(startedAt))).toBeGreaterThanOrEqual(startAfter.getTime());
  expect(Date.parse(String(startedAt))).toBeLessThan(startAfter.getTime() + 120_000);
  expect((await workflowOf(`start:${run.id}`)).status.name).toBe('COMPLETED');
});

test('a delayed run that is cancelled leaves no workflow waiting', async () => {
  const agent = await makeAgent(stack, []);
  const run = (await start(agent.id, 'Never.', { start_after: new Date(Date.now() + 3_600_000).toISOString() })).body;
  await until(() => workflowOf(`start:${run.id}`).then(Boolean, () => false));

  await stack.request('POST', `/runs/${run.id}/cancel`);

  await until(async () => (await workflowOf(`start:${run.id}`)).status.name === 'CANCELLED');
  expect(await read(run.id)).toMatchObject({ status: 'cancelled', started_at: null });
});

test('a worker killed while a message waits and a delayed start is due: both are honoured, once', async () => {
  const agent = await makeAgent(stack, []);
  const run = (await start(agent.id, slow())).body;
  const delayed = (
    await start(agent.id, scripted({ steps: [{ text: 'Later.' }] }), { start_after: new Date(Date.now() + 1_500).toISOString() })
  ).body;
  await speaks(run.id);
  await addMessage(run.id, scripted({ steps: [{ text: 'Steered.' }] }));

  await stack.kill('worker-runs');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await stack.start('worker-runs');
  const [steered, late] = [await ended(run.id), await ended(delayed.id)];

  expect(steered.run).toMatchObject({ status: 'succeeded', output: { text: 'Steered.' } });
  expect(late.run).toMatchObject({ status: 'succeeded', output: { text: 'Later.' } });
  const { items } = (await stack.request('GET', `/runs/${run.id}/messages`)).body as {
    items: { role: string; content: { text: string }[] }[];
  };
  expect(items.filter(({ role, content }) => role === 'user' && content[0]?.text.includes('Steered.'))).toHaveLength(1);
});

test('a worker killed while a run is interrupted: the line moves on the next one', async () => {
  const agent = await makeAgent(stack, []);
  const sessionKey = crypto.randomUUID();
  const first = (await start(agent.id, slow(), { session_key: sessionKey })).body;
  await speaks(first.id);

  const second = (await start(agent.id, scripted({ steps: [{ text: 'Me now.' }] }), { session_key: sessionKey, on_busy: 'interrupt' }))
    .body;
  await stack.kill('worker-runs');
  await stack.start('worker-runs');
  const [old, next] = [await ended(first.id), await ended(second.id)];

  expect(old.run).toMatchObject({ status: 'cancelled', finish_reason: 'superseded' });
  expect(next.run).toMatchObject({ status: 'succeeded', output: { text: 'Me now.' } });
});
