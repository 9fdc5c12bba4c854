import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { testNamespace, type TestNamespace } from '../support/temporal.ts';
import { startTestWorker } from '../support/worker.ts';

// Each of hundreds of activities takes a second on a busy machine.
jest.setTimeout(1_800_000);

const steps = 450;
const maxEvents = 10_240;
let place: TestNamespace;
let worker: { stop(): Promise<void> };
let left = 0;

const next = (last: string) => async () => ({ outcome: left-- > 0 ? 'more' : last });
const activities = {
  embedRange: next('done'),
  buildIndex: async () => undefined,
  verifySample: async () => ({ outcome: 'done' }),
  cutOver: async () => ({ outcome: 'done' }),
  advanceKnowledgeRun: next('ended'),
};

beforeAll(async () => {
  place = await testNamespace();
  worker = await startTestWorker(place, activities, Object.keys(activities));
});
afterAll(async () => {
  await worker.stop();
  await place.close();
});

/** Events of each execution of a chain, the first one first. */
async function eventsOf(workflowType: string): Promise<number[]> {
  const { workflow } = place.temporal.client;
  left = steps;
  const handle = await workflow.start(workflowType, { workflowId: randomUUID(), taskQueue: 'runs', args: [{ runId: randomUUID() }] });
  await handle.result();
  const counts: number[] = [];
  for (let runId: string | null | undefined = handle.firstExecutionRunId; runId;) {
    const { events } = await workflow.getHandle(handle.workflowId, runId).fetchHistory();
    counts.push(events?.length ?? 0);
    runId = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return counts;
}

test.each(['reembedBase', 'knowledgeRun'])(
  'a history of %s ends after 200 activities of 6 events each, 1,215 in all: under 10,240 however many items, were each an activity of its own',
  async (workflowType) => {
    const counts = await eventsOf(workflowType);

    expect(counts).toHaveLength(Math.ceil(steps / 200));
    for (const count of counts) expect(count).toBeLessThanOrEqual(200 * 6 + 15);
    expect(200 * 6 + 15).toBeLessThan(maxEvents);
  },
);
