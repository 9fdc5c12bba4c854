import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { scripted } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { startLimitsWorld, type LimitsWorld } from './limits-world.ts';

let world: LimitsWorld;
beforeAll(async () => {
  world = await startLimitsWorld({ concurrency: 2 });
});
afterAll(() => world?.stop());
beforeEach(() => world.models.reset());

const slowly = (ms: number, words: string) => scripted({ steps: [{ text: 'Done.', first_token_ms: ms }] }, words);

test('runs of two workers make no more calls at the same time than the provider allows, and no wait counts as a try', async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, (_, at) => world.start(slowly(700, `Number ${at}.`))));
  for (const id of ids) await world.runIn(id, 'succeeded');

  expect(world.models.peak).toBe(2);
  expect(world.models.calls().map(({ attempt }) => attempt)).toEqual(Array.from({ length: 8 }, () => 1));
  for (const id of ids) {
    const { body } = await world.stack.request('GET', `/runs/${id}/steps`);
    expect(body).toMatchObject({ items: [{ attempt: 1, retries: [] }] });
  }
});

test('a run that is cancelled while its call waits ends at once, without a call', async () => {
  const busy = await Promise.all(['one', 'two'].map((words) => world.start(slowly(8_000, words))));
  await until(async () => world.models.calls().length === 2);
  const waiting = await world.start(slowly(0, 'The third.'));
  await world.runIn(waiting, 'running');
  await world.stack.request('POST', `/runs/${waiting}/cancel`, { body: {} });

  await world.runIn(waiting, 'cancelled');
  expect(world.models.calls().filter(({ outcome }) => outcome === 'open')).toHaveLength(2);
  for (const id of busy) await world.runIn(id, 'succeeded');
  expect(world.models.calls()).toHaveLength(2);
});
