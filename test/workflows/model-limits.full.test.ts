import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { scripted } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { startLimitsWorld, type LimitsWorld } from './limits-world.ts';

let world: LimitsWorld;
beforeAll(async () => {
  world = await startLimitsWorld({ concurrency: 1 });
});
afterAll(() => world?.stop());
beforeEach(() => world.models.reset());

const slowly = (ms: number, words: string) => scripted({ steps: [{ text: 'Done.', first_token_ms: ms }] }, words);

test("a provider's 429 in one run holds back the calls of the others for as long as it says", async () => {
  const fault = { kind: 'status', status: 429, headers: { 'retry-after': '4' } } as const;
  const refused = await world.start(scripted({ steps: [{ text: 'Done.', faults: [fault] }] }, 'Refused first.'));
  await until(async () => world.models.calls().some(({ outcome }) => outcome === 'status'));
  const refusedAt = world.models.calls()[0]?.at ?? 0;
  const others = await Promise.all(['a', 'b', 'c'].map((words) => world.start(slowly(0, words))));
  for (const id of [refused, ...others]) await world.runIn(id, 'succeeded');

  const later = world.models.calls().slice(1);
  expect(later).toHaveLength(4);
  for (const { at } of later) expect(at - refusedAt).toBeGreaterThanOrEqual(3_900);
  // One in the first second after the pause.
  expect(later.filter(({ at }) => at - refusedAt < 4_900).length).toBeLessThanOrEqual(1);
});

test('a worker that is killed while its call is under way gives its permit back, and both runs end well', async () => {
  const first = await world.start(slowly(3_000, 'Held by a worker that dies.'));
  await until(async () => world.models.calls().length === 1);
  const second = await world.start(slowly(0, 'Waits.'));
  await world.stack.kill('worker-runs');

  await world.runIn(first, 'succeeded');
  await world.runIn(second, 'succeeded');
  await world.stack.start('worker-runs');
});

test('a run whose call waits ends at its time limit', async () => {
  const busy = await world.start(slowly(30_000, 'Busy.'));
  await until(async () => world.models.calls().length === 1);
  const { status, body } = await world.stack.request('POST', '/runs', {
    body: { agent_id: world.agentId, input: { text: slowly(0, 'Too late.') }, limits: { max_duration_s: 10 } },
  });
  expect([status, body]).toEqual([202, expect.anything()]);

  const { id } = body as { id: string };
  expect(await world.runIn(id, 'failed')).toMatchObject({ finish_reason: 'timeout' });
  expect(world.models.calls()).toHaveLength(1);
  await world.runIn(busy, 'succeeded');
});
