import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { signTenantHeader, verifyTenantHeader } from '../../temporal/header.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { callsTurn, fakeRuns, readCall } from '../fakes/run-activities.ts';
import { testNamespace, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';

const fakes = fakeRuns();
const tenant = { organizationId: randomUUID(), workspaceId: randomUUID(), correlationId: randomUUID() };
let place: TestNamespace;
let worker: { stop(): Promise<void> };

beforeAll(async () => {
  place = await testNamespace();
  worker = await startTestWorker(place, fakes.activities);
});

afterAll(async () => {
  await worker.stop();
  await place.close();
});

test('each of many runs in one worker acts in its own tenant', async () => {
  const runs = Array.from({ length: 10 }, () => randomUUID());
  const records = runs.map((runId) => fakes.script(runId, { turns: [callsTurn(readCall('a'))] }));
  const started = await Promise.all(runs.map((runId) => startAgentRun(place, runId)));

  await Promise.all(runs.map((runId) => place.temporal.client.workflow.getHandle(workflowIds.run(runId)).result()));

  expect(records.map((record) => record.tenant)).toEqual(
    started.map(({ organizationId, workspaceId, correlationId }) => ({ organizationId, workspaceId, correlationId })),
  );
});

test('a workflow without the header, or with one that another key signed, runs no activity', async () => {
  const foreign = signTenantHeader(randomKeyRing().headerKeys, tenant);
  const start = async (withHeader: boolean) => {
    const runId = randomUUID();
    const record = fakes.script(runId, {});
    const begin = () =>
      place.temporal.client.workflow.start('agentRun', { workflowId: workflowIds.run(runId), taskQueue: 'runs', args: [{ runId }] });
    const handle = await (withHeader ? place.temporal.withHeader(foreign, begin) : begin());

    await expect(handle.result()).rejects.toThrow();
    return record.entries;
  };

  expect(await start(false)).toEqual([]);
  expect(await start(true)).toEqual([]);
});

test('a start of a workflow that runs or has run counts as success', async () => {
  const runId = randomUUID();
  const record = fakes.script(runId, {});
  const handle = place.temporal.client.workflow.getHandle(workflowIds.run(runId));

  await startAgentRun(place, runId);
  await startAgentRun(place, runId);
  await handle.result();
  await startAgentRun(place, runId);

  expect(record.entries).toEqual(['begin', 'model 1', 'finish stop']);
});

test('a header opens under every key of the ring and under no other, and no byte of it can be changed', () => {
  const [older, newer] = [randomKeyRing().headerKeys, randomKeyRing().headerKeys];
  const header = signTenantHeader(older, tenant);
  const text = Buffer.from(header.data ?? []).toString();
  const changed = { ...header, data: Buffer.from(text.replace(/\.(.)/g, (_all, char: string) => `.${char === 'A' ? 'B' : 'A'}`)) };

  expect(verifyTenantHeader([...newer, ...older], header)).toEqual(tenant);
  expect(() => verifyTenantHeader(newer, header)).toThrow();
  expect(() => verifyTenantHeader(older, changed)).toThrow();
});
