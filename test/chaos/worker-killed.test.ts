import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { archivedFrames, makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import { holdStatements } from '../support/held-statements.ts';
import { gapsOf, readStream } from '../support/stream-client.ts';
import { until } from '../support/temporal.ts';
import { fullTest, isWholeMatrix, matrixTest } from './whole.ts';

type Tool = ReturnType<typeof writeTool>;

let scenario: Scenario;
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ effects, stack } = scenario);
});

afterAll(() => scenario?.stop());

test('a worker killed while the model streams: the run goes on under a new attempt, every frame comes once', async () => {
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 60, delay_ms: 60 }] }));
  const reader = readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);
  await until(() => reader.frames.filter((frame) => frame.type === 'message.delta').length >= 5);

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
  'a worker killed between effects and their records (seed %i): a write is told to the model as done perhaps, an idempotent one is done again under its key',
  async (seed) => {
    const [plain, idempotent] = ['write', 'idem'].map((kind) => writeTool(`${kind}-${crypto.randomUUID().slice(0, 8)}`, effects)) as [
      Tool,
      Tool,
    ];
    const config = { ...(idempotent['config'] as object), idempotency_header: 'Idempotency-Key' };
    const effectsOf = (tool: Tool) => effects.effects.filter(({ path }) => path === `/${String(tool['slug'])}`);
    let isKilled = false;
    // Neither call is answered while its worker lives.
    effects.onEffect = () => until(() => isKilled);
    const readers = await Promise.all(
      [plain, { ...idempotent, config }].map(async (tool) => {
        const agent = await makeAgent(stack, [tool]);
        const script = { steps: [{ tool_calls: [{ name: String(tool['slug']), arguments: { n: seed } }] }, { text: 'Noted.' }] };
        const run = await startRun(stack, agent.id, scripted(script));
        return readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);
      }),
    );

    await until(() => effectsOf(plain).length === 1 && effectsOf(idempotent).length === 1);
    await new Promise((resolve) => setTimeout(resolve, seed * 30));
    await stack.kill('worker-runs');
    [isKilled, effects.onEffect] = [true, null];
    await stack.start('worker-runs');
    const [ofPlain, ofIdempotent] = await Promise.all(readers.map((reader) => reader.finished));

    const resultOf = (frames: typeof ofPlain) => frames?.find((frame) => frame.type === 'tool.result')?.data;
    expect(effectsOf(plain)).toHaveLength(1);
    expect(resultOf(ofPlain)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
    const keys = effectsOf(idempotent).map(({ key }) => key);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    expect(resultOf(ofIdempotent)).toMatchObject({ status: 'succeeded' });
    for (const frames of [ofPlain, ofIdempotent]) {
      expect(gapsOf(frames ?? [])).toEqual([]);
      expect(frames?.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'succeeded' } });
    }
  },
);

test.each([
  ['begins', "new.status = 'running' and old.status = 'queued'"],
  ['ends', "new.status = 'succeeded'"],
])('a worker killed while it %s a run, in its workflow task: the next one does it, once', async (_what, when) => {
  const agent = await makeAgent(stack, []);
  const held = await holdStatements(stack.adminUrl, { table: 'runs', event: 'update', when });
  const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Said once.' }] }));
  const reader = readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);

  await held.reached();
  await stack.kill('worker-runs');
  await held.letGo();
  await stack.start('worker-runs');
  const frames = await reader.finished;

  expect(gapsOf(frames)).toEqual([]);
  for (const type of ['run.started', 'run.finished']) expect(frames.filter((frame) => frame.type === type)).toHaveLength(1);
  expect(frames.at(-1)).toMatchObject({ data: { status: 'succeeded', last_seq: frames.length } });
  expect(frames.filter((frame) => frame.type === 'message.completed' && frame.data['role'] === 'assistant')).toHaveLength(1);
  expect(frames.map((frame) => frame.text)).toEqual(await archivedFrames(stack, run.id));
});

matrixTest('a worker that is frozen while it ends a run, until another one has ended it, changes nothing when it goes on', async () => {
  const agent = await makeAgent(stack, []);
  const held = await holdStatements(stack.adminUrl, { table: 'runs', event: 'update', when: "new.status = 'succeeded'" });
  const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Said once.' }] }));
  const reader = readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext);

  await held.reached();
  await stack.kill('worker-runs', 'SIGSTOP');
  await held.letGo();
  await stack.start('worker-runs-2');
  const frames = await reader.finished;
  await stack.kill('worker-runs', 'SIGCONT');
  const next = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Next.' }] }));
  await readStream([stack.url()], `/runs/${next.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
  await stack.kill('worker-runs-2');

  expect(gapsOf(frames)).toEqual([]);
  expect(frames.filter((frame) => frame.type === 'run.finished')).toHaveLength(1);
  expect(frames.map((frame) => frame.text)).toEqual(await archivedFrames(stack, run.id));
});

fullTest('a run that always kills its worker costs three, ends as failed and blocks nobody', async () => {
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
