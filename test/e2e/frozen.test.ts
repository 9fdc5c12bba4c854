import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import type { ReceivedFrame } from '../support/stream-client.ts';
import { until } from '../support/temporal.ts';

jest.setTimeout(400_000);

let scenario: Scenario;
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ effects, stack } = scenario);
}, 300_000);
afterAll(() => scenario?.stop());

/** Longer than two heartbeat timeouts: the worker then holds a delivery that was given up beside one that counts. */
const frozenMs = 25_000;

test('a frozen worker: after the thaw no run fails, a loss is one try, and the write has happened once', async () => {
  const slug = `write-${crypto.randomUUID().slice(0, 8)}`;
  const talker = await makeAgent(stack, []);
  const doer = await makeAgent(stack, [writeTool(slug, effects)]);
  effects.onEffect = () => delay(3_000);
  const starts = await Promise.all([
    ...[1, 2, 3].map(() => startRun(stack, talker.id, scripted({ steps: [{ tokens: 100, delay_ms: 60 }] }))),
    startRun(stack, doer.id, scripted({ steps: [{ tool_calls: [{ name: slug, arguments: { n: 1 } }] }, { text: 'Done.' }] })),
  ]);
  const readers = starts.map((run) => watchRun(stack, run.id));
  await until(() => effects.effects.length === 1 && readers.every((reader) => reader.frames.length > 2), 60_000);

  await stack.kill('worker-runs', 'SIGSTOP');
  await delay(frozenMs);
  await stack.kill('worker-runs', 'SIGCONT');
  const seen = await Promise.all(readers.map((reader) => endOf(reader, 120_000)));

  const checked = await Promise.all(starts.map((run, n) => checkRun(stack, run.id, { seen: [seen[n] ?? []] })));
  expect(checked.map(({ run, faults }) => [run.status, faults])).toEqual(checked.map(() => ['succeeded', []]));
  expect(Math.max(...seen.map((frames) => frames.filter(isRetry).length))).toBeLessThanOrEqual(1);
  expect(effects.effects).toHaveLength(1);
});

function isRetry(frame: ReceivedFrame): boolean {
  return frame.type === 'run.status' && frame.data['retry'] !== null;
}
