import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';

let scenario: Scenario;
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ effects, stack } = scenario);
}, 120_000);

afterAll(() => scenario?.stop());

const viewOf = async (id: string) => (await stack.request('GET', `/runs/${id}`)).body as Record<string, unknown>;

test('a pause of a minute that the provider asks for is a wait of the run, which a killed worker does not shorten', async () => {
  const pauseS = 62;
  const limited = { kind: 'status' as const, status: 429, headers: { 'retry-after': String(pauseS) } };
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Here I am.', faults: [limited] }] }, 'Take your time.'));
  const startedAt = Date.now();

  await until(async () => (await viewOf(run.id))['status'] === 'waiting');
  const waiting = await viewOf(run.id);
  await stack.kill('worker-runs');
  await stack.start('worker-runs');
  await endOf(watchRun(stack, run.id), 120_000);
  const { run: ended, frames, faults } = await checkRun(stack, run.id);

  expect(waiting).toMatchObject({ waiting_on: 'timer', error: null });
  const untilMs = Date.parse(String(waiting['waiting_until']));
  expect(untilMs - startedAt).toBeGreaterThan((pauseS - 5) * 1_000);
  expect(untilMs - startedAt).toBeLessThan((pauseS + 20) * 1_000);
  expect(Date.parse(String(frames.at(-1)?.data['finished_at']))).toBeGreaterThanOrEqual(untilMs);
  expect(ended).toMatchObject({ status: 'succeeded', output: { text: 'Here I am.' } });
  expect(frames.filter((frame) => frame.type === 'run.status').map((frame) => frame.data['status'])).toEqual([
    'queued',
    'waiting',
    'running',
    'running', // the next try, with its cause
  ]);
  expect(faults).toEqual([]);
});

test('a run that waits for a provider is cancelled at once', async () => {
  const limited = { kind: 'status' as const, status: 503, headers: { 'retry-after': '3600' } };
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Never.', faults: [limited] }] }, 'Later.'));

  await until(async () => (await viewOf(run.id))['status'] === 'waiting');
  const cancelled = await stack.request('POST', `/runs/${run.id}/cancel`);
  await endOf(watchRun(stack, run.id), 10_000);
  const { run: ended, faults } = await checkRun(stack, run.id);

  expect(cancelled.status).toBe(202);
  expect(ended).toMatchObject({ status: 'cancelled', finish_reason: 'cancelled' });
  expect(faults).toEqual([]);
});

test('a tool that is silent for two minutes within its timeout succeeds', async () => {
  const slug = `slow-${crypto.randomUUID().slice(0, 8)}`;
  const agent = await makeAgent(stack, [writeTool(slug, effects, { timeout_s: 150 })]);
  effects.onEffect = () => new Promise((resolve) => setTimeout(resolve, 122_000));
  const script = { steps: [{ tool_calls: [{ name: slug, arguments: { n: 1 } }] }, { text: 'It took a while.' }] };

  const run = await startRun(stack, agent.id, scripted(script));
  await endOf(watchRun(stack, run.id), 200_000);
  effects.onEffect = null;
  const { run: ended, frames, faults } = await checkRun(stack, run.id);

  expect(frames.find((frame) => frame.type === 'tool.result')).toMatchObject({ data: { status: 'succeeded' } });
  expect(effects.effects.filter((effect) => effect.path === `/${slug}`)).toHaveLength(1);
  expect(ended).toMatchObject({ status: 'succeeded', output: { text: 'It took a while.' } });
  expect(faults).toEqual([]);
});
