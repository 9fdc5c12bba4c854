import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTemporalGateway } from '../../temporal/gateway.ts';
import { connectTemporal, type Temporal } from '../../temporal/client.ts';
import { keepNamespace } from '../../temporal/namespace.ts';
import { scheduleIds } from '../../temporal/schedules.ts';
import { minMs } from '../support/least.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { testServices } from '../support/services.ts';
import { silent } from '../support/worker.ts';

let stack: Stack;
let temporal: Temporal;

beforeAll(async () => {
  stack = await startStack({ processes: ['worker-runs', 'worker-bulk'] });
  temporal = connectTemporal({
    address: testServices().temporalAddress,
    namespace: stack.redisPrefix.slice(0, -1),
    identity: 'test',
    headerKeys: stack.keys.headerKeys,
  });
});

afterAll(async () => {
  await temporal?.close();
  await stack?.stop();
});

test('workers make the schedules, and status shows queues, workers and schedules', async () => {
  const keeper = keepNamespace(temporal, silent);
  const gateway = createTemporalGateway(temporal, keeper);

  const longMs = 120_000;
  await gateway.check(longMs);
  let schedules: Awaited<ReturnType<typeof gateway.schedules>> = [];
  // A busy server may refuse a look: the next one tells.
  const look = async () => (schedules = await gateway.schedules(longMs)).length === scheduleIds.length;
  await until(() => look().catch(() => false));
  expect(schedules).toEqual(scheduleIds.map((id) => ({ id, isPaused: false, nextAt: expect.any(Date), missed: 0 })));
  let queues: Awaited<ReturnType<typeof gateway.queues>> = [];
  // The first ticks of the schedules may wait just now.
  await until(async () => (queues = await gateway.queues(longMs)).every(({ backlog }) => backlog === 0));
  expect(queues).toEqual(['runs', 'bulk'].map((name) => ({ name, backlog: 0, oldestAgeS: 0, pollers: 1 })));
  const workers = await gateway.workers(longMs);
  expect(workers.map((worker) => worker.queues)).toEqual([['runs'], ['bulk']]);
  keeper.stop();
  expect(workers.every((worker) => worker.buildId !== '' && Date.now() - worker.lastSeenAt.getTime() < 60_000)).toBe(true);
});

test("the schedules' workflows run to their end without a tenant", async () => {
  for (const id of scheduleIds) {
    const handle = temporal.client.schedule.getHandle(id);

    await handle.trigger();
    let workflowId: string | null = null;
    // A busy server may refuse a look: the next one tells.
    const look = async () => (workflowId = (await handle.describe()).info.recentActions[0]?.action.workflow.workflowId ?? null) !== null;
    await until(() => look().catch(() => false));
    await temporal.client.workflow.getHandle(workflowId ?? '').result();
  }
});

test('a paused schedule stays paused when a worker starts again', async () => {
  const handle = temporal.client.schedule.getHandle('maint:http-sweep');
  await handle.pause('by an operator');
  const before = (await handle.describe()).info.lastUpdatedAt?.getTime() ?? 0;

  expect(await stack.kill('worker-bulk', 'SIGTERM')).toBe(0);
  await stack.start('worker-bulk');

  await until(async () => ((await handle.describe()).info.lastUpdatedAt?.getTime() ?? 0) > before);
  expect((await handle.describe()).state).toMatchObject({ paused: true, note: 'by an operator' });
});

test('an idle worker that is asked to stop has drained within seconds, with code 0', async () => {
  let isUp = true;
  const least = await minMs(10_000, async () => {
    if (!isUp) await stack.start('worker-runs');
    isUp = false;
    const askedAt = Date.now();
    expect(await stack.kill('worker-runs', 'SIGTERM')).toBe(0);
    return Date.now() - askedAt;
  });

  expect(least).toBeLessThan(10_000);
});
