import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { archivedFrames, makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import { gapsOf, readStream } from '../support/stream-client.ts';
import { until } from '../support/temporal.ts';
import { isWholeMatrix } from './whole.ts';

jest.setTimeout(120_000);

let scenario: Scenario;
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ effects, stack } = scenario);
}, 120_000);

afterAll(() => scenario?.stop());

test('a worker killed while the model streams: the run goes on under a new attempt, every frame comes once', async () => {
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 60, delay_ms: 60 }] }));
  const reader = readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);
  await until(() => reader.frames.filter((frame) => frame.type === 'message.delta').length >= 5, 60_000);

  await stack.kill('worker-runs');
  await stack.start('worker-runs');
  const frames = await reader.finished;

  expect(gapsOf(frames)).toEqual([]);
  expect(frames.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'succeeded', last_seq: frames.length } });
  expect(frames.filter((frame) => frame.type === 'run.status' && frame.data['retry'] !== null)).toHaveLength(1);
  expect(frames.filter((frame) => frame.type === 'message.completed' && frame.data['role'] === 'assistant')).toHaveLength(1);
  expect(frames.map((frame) => frame.text)).toEqual(await archivedFrames(stack, run.id));
});

test.each(isWholeMatrix ? [1, 2, 3] : [2])(
  'a worker killed between a write and its record (seed %i): the effect happens once and the model is told that it may have',
  async (seed) => {
    const before = effects.effects.length;
    const tool = writeTool(`write-${crypto.randomUUID().slice(0, 8)}`, effects);
    const agent = await makeAgent(stack, [tool]);
    let isKilled = false;
    effects.onEffect = async (count) => {
      if (count !== before + 1) return;
      await new Promise((resolve) => setTimeout(resolve, seed * 30));
      await stack.kill('worker-runs');
      isKilled = true;
    };
    const script = { steps: [{ tool_calls: [{ name: String(tool['slug']), arguments: { n: seed } }] }, { text: 'Noted.' }] };

    const run = await startRun(stack, agent.id, scripted(script));
    const reader = readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);
    await until(() => isKilled, 60_000);
    effects.onEffect = null;
    await stack.start('worker-runs');
    const frames = await reader.finished;

    expect(effects.effects.length).toBe(before + 1);
    expect(gapsOf(frames)).toEqual([]);
    expect(frames.find((frame) => frame.type === 'tool.result')).toMatchObject({
      data: { status: 'failed', error: { code: 'outcome_unknown' } },
    });
    expect(frames.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'succeeded' } });
  },
);

test('a read whose worker is killed is executed again; an idempotent write too, under the same key', async () => {
  const before = effects.effects.length;
  const slug = `idem-${crypto.randomUUID().slice(0, 8)}`;
  const base = writeTool(slug, effects);
  const agent = await makeAgent(stack, [{ ...base, config: { ...(base['config'] as object), idempotency_header: 'Idempotency-Key' } }]);
  let isKilled = false;
  effects.onEffect = async (count) => {
    if (count !== before + 1) return;
    await stack.kill('worker-runs');
    isKilled = true;
  };

  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ tool_calls: [{ name: slug, arguments: { n: 1 } }] }, { text: 'Done.' }] }),
  );
  const reader = readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);
  await until(() => isKilled, 60_000);
  effects.onEffect = null;
  await stack.start('worker-runs');
  const frames = await reader.finished;

  const keys = effects.effects.slice(before).map((effect) => effect.key);
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
  expect(frames.find((frame) => frame.type === 'tool.result')).toMatchObject({ data: { status: 'succeeded' } });
  expect(frames.at(-1)).toMatchObject({ data: { status: 'succeeded' } });
});

test('a run that always kills its worker costs three, ends as failed and blocks nobody', async () => {
  const slug = `killer-${crypto.randomUUID().slice(0, 8)}`;
  const base = writeTool(slug, effects);
  const agent = await makeAgent(stack, [{ ...base, effect: 'read' }]);
  let kills = 0;
  effects.onEffect = async () => {
    kills += 1;
    await stack.kill('worker-runs');
    void stack.start('worker-runs');
  };
  const sessionKey = crypto.randomUUID();

  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ tool_calls: [{ name: slug, arguments: { n: 1 } }] }, { text: 'Never.' }] }),
    { sessionKey },
  );
  const next = await startRun(stack, agent.id, scripted({ steps: [{ text: 'I am next.' }] }), { sessionKey });
  const frames = await readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
  const nextFrames = await readStream([stack.url()], `/runs/${next.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
  effects.onEffect = null;

  expect(kills).toBe(3);
  expect(frames.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'failed', error: { reason: 'worker_lost' } } });
  expect(nextFrames.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'succeeded' } });
});
