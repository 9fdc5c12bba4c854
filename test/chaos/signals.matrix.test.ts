import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fakeRuns } from '../fakes/run-activities.ts';
import { testNamespace, type TestNamespace } from '../support/temporal.ts';
import { startTestWorker } from '../support/worker.ts';
import { flood } from '../workflows/signal-flood.ts';

const fakes = fakeRuns();
let place: TestNamespace;

beforeAll(async () => {
  place = await testNamespace();
});

afterAll(() => place.close());

test('500 signals across 20 new histories: every message is read once', async () => {
  const worker = await startTestWorker(place, fakes.activities);

  const { reads, begins, models } = await flood(place, fakes, { messages: 500, histories: 20 });
  await worker.stop();

  expect(reads).toEqual(reads.map(() => 1));
  expect(begins).toBeGreaterThanOrEqual(21);
  expect(models).toEqual(models.map((_entry, index) => `model ${index + 1}`));
});
