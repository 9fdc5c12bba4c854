import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { startWorkflow } from '../../temporal/start.ts';
import { stateChanged, type PurgeActivities, type StopActivities } from '../../workflows/contracts/upkeep/operator.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { testNamespace, type TestNamespace } from '../support/temporal.ts';
import { startTestWorker } from '../support/worker.ts';

/** What the activities do for one organization, and what was asked of them. */
const told: string[] = [];
let broken: string | null = null;
let leftOver = 0;
let isOpen = true;
let onStop: () => Promise<void> = async () => undefined;
let rounds: number[] = [];

const activities: PurgeActivities & StopActivities = {
  openPurge: async () => ({ isOpen, tables: ['messages', 'runs'] }),
  stopAll: async () => 0,
  async deleteRows({ table }) {
    told.push(table);
    if (table === broken) throw ApplicationFailure.nonRetryable('can not');
    return true;
  },
  deleteObjects: async () => undefined,
  dropKeys: async () => void told.push('keys'),
  async tombstone() {
    told.push('tombstone');
    return leftOver-- <= 0;
  },
  failPurge: async ({ step }) => void told.push(`failed:${step}`),
  async cancelRuns() {
    await onStop();
    const cancelled = rounds.shift();
    told.push('round');
    return { isStopped: cancelled !== undefined, cancelled: cancelled ?? 0 };
  },
};

let place: TestNamespace;
let worker: { stop(): Promise<void> };

beforeAll(async () => {
  place = await testNamespace();
  worker = await startTestWorker(place, activities);
});

afterAll(async () => {
  await worker?.stop();
  await place?.close();
});

test('a step that can not be done fails the purge at that step; asked again it goes from there to the end', async () => {
  const organizationId = randomUUID();
  told.length = 0;
  broken = 'runs';
  await purge(organizationId);
  expect(told).toEqual(['messages', 'runs', 'failed:runs']);

  told.length = 0;
  broken = null;
  await purge(organizationId);
  expect(told).toEqual(['messages', 'runs', 'keys', 'tombstone']);
});

test('rows that came meanwhile are deleted in another round, and nothing is done without an open purge', async () => {
  told.length = 0;
  leftOver = 1;
  await purge(randomUUID());
  expect(told).toEqual(['messages', 'runs', 'keys', 'tombstone', 'messages', 'runs', 'keys', 'tombstone']);

  told.length = 0;
  leftOver = 0;
  isOpen = false;
  await purge(randomUUID());
  isOpen = true;
  expect(told).toEqual([]);
});

test('a stop goes on round by round until nobody is left, and looks again when the state changes meanwhile', async () => {
  const organizationId = randomUUID();
  told.length = 0;
  rounds = [200, 7, 0];
  await stop(organizationId);
  expect(told).toEqual(['round', 'round', 'round']);

  told.length = 0;
  rounds = [0];
  onStop = async () => {
    onStop = async () => undefined;
    await tell('orgStop', workflowIds.orgStop(organizationId), organizationId);
  };
  await stop(organizationId);
  expect(told).toEqual(['round', 'round']);
});

async function purge(organizationId: string): Promise<void> {
  await tell('orgPurge', workflowIds.orgPurge(organizationId), organizationId);
  await place.temporal.client.workflow.getHandle(workflowIds.orgPurge(organizationId)).result();
}

async function stop(organizationId: string): Promise<void> {
  await tell('orgStop', workflowIds.orgStop(organizationId), organizationId);
  await place.temporal.client.workflow.getHandle(workflowIds.orgStop(organizationId)).result();
}

/** As the outbox does it: start and signal in one. */
function tell(workflowType: string, workflowId: string, organizationId: string): Promise<void> {
  return startWorkflow(place.temporal, {
    kind: 'workflow.start',
    workflowType,
    workflowId,
    taskQueue: 'runs',
    args: [],
    organizationId,
    workspaceId: null,
    correlationId: randomUUID(),
    reuse: 'allow_duplicate',
    signal: stateChanged,
    priority: 3,
    searchAttributes: {},
  });
}
