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
});
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
  await until(() => effects.effects.length === 1 && readers.every((reader) => reader.frames.length > 2));

  await stack.kill('worker-runs', 'SIGSTOP');
  await delay(frozenMs);
  await stack.kill('worker-runs', 'SIGCONT');
  const seen = await Promise.all(readers.map((reader) => endOf(reader)));

  const checked = await Promise.all(starts.map((run, n) => checkRun(stack, run.id, { seen: [seen[n] ?? []] })));
  expect(checked.map(({ run, faults }) => [run.status, faults])).toEqual(checked.map(() => ['succeeded', []]));
  expect(Math.max(...seen.map((frames) => frames.filter(isRetry).length))).toBeLessThanOrEqual(1);
  expect(effects.effects).toHaveLength(1);
});

test('a worker that was frozen between its claim and its request sends nothing: the model has been told that nobody knows', async () => {
  const slug = `write-${crypto.randomUUID().slice(0, 8)}`;
  const before = effects.effects.length;
  const token = Promise.withResolvers<void>();
  // The request waits for its token, which comes while the worker is frozen.
  effects.onEffect = () => token.promise;
  effects.answer = { access_token: 'a-token', token_type: 'Bearer', expires_in: 3_600 };
  const tool = writeTool(slug, effects);
  const agent = await makeAgent(stack, [
    {
      ...tool,
      config: {
        ...(tool['config'] as object),
        auth: { type: 'oauth2_client_credentials', token_url: `${effects.origin}/token`, client_id: 'a-client', secret: 'client' },
      },
    },
  ]);
  await stack.request('PUT', `/tools/${agent.toolIds[0]}/secrets`, { body: { values: { client: 'a-client-secret' } } });
  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ tool_calls: [{ name: slug, arguments: { n: 1 } }] }, { text: 'Done.' }] }),
  );
  const reader = watchRun(stack, run.id);
  await until(() => effects.effects.length > before);

  await stack.kill('worker-runs', 'SIGSTOP');
  token.resolve();
  await delay(frozenMs);
  await stack.kill('worker-runs', 'SIGCONT');
  const seen = await endOf(reader);
  const { run: last, faults } = await checkRun(stack, run.id, { seen: [seen] });
  await delay(2_000);

  expect({ status: last.status, faults }).toEqual({ status: 'succeeded', faults: [] });
  expect(effects.effects.slice(before).map(({ path }) => path)).toEqual(['/token']);
});

function isRetry(frame: ReceivedFrame): boolean {
  return frame.type === 'run.status' && frame.data['retry'] !== null;
}
