import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ReconcileReport } from '../../workflows/contracts/upkeep/maintenance.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { startAgentRun } from '../support/worker.ts';
import { openOutboxWorld, type OutboxWorld } from '../workflows/outbox-world.ts';
import { makeAsked, openTreeWorld, type TreeWorld } from './tree.ts';

const nothing: ReconcileReport = { examined: 0, started: 0, finished: 0, terminated: 0, activated: 0 };
let outbox: OutboxWorld;
let tree: TreeWorld;

beforeAll(async () => {
  outbox = await openOutboxWorld();
  tree = await openTreeWorld(outbox.world);
});

afterAll(() => outbox.close());

const pass = () => outbox.reconciler.pass(new AbortController().signal);

/** A parent with an open workflow and a child that waits to be started by it. */
async function opened() {
  const leaf = await makeAsked(tree);
  const top = await makeAsked(tree, { sub_agents: [{ id: leaf.id }] });
  const parent = await tree.begin(top.id);
  const [callId = ''] = await tree.ask(parent, [{ slug: leaf.ask, args: { task: 'Go.' } }]);
  const child = await tree.open(parent, callId);
  if (child.kind !== 'child') throw new Error(child.kind);
  await startAgentRun(outbox.place, parent);
  for (const id of [parent, child.child.runId]) await outbox.age(id, '40 s');
  return { parent, child: child.child.runId };
}

test("a queued child is its parent's to start, however long that takes", async () => {
  const { parent, child } = await opened();

  const report = await pass();

  expect(report).toEqual({ ...nothing, examined: 1 });
  expect([await outbox.runStatus(parent), await outbox.runStatus(child)]).toEqual(['running', 'queued']);
  expect(await outbox.isOpen(workflowIds.run(child))).toBe(false);
});

test('a parent whose workflow is gone ends with its queued child, and a second pass adds no work', async () => {
  const { parent, child } = await opened();
  await outbox.place.temporal.client.workflow.getHandle(workflowIds.run(parent)).terminate();

  const first = await pass();
  const second = await pass();

  expect(first).toMatchObject({ started: 0, finished: 1 });
  expect([await outbox.runStatus(parent), await outbox.runStatus(child)]).toEqual(['failed', 'cancelled']);
  expect(second).toMatchObject({ started: 0, finished: 0 });
  expect(await tree.faults([parent, child])).toEqual([]);
});

test('a queued child that its parent has left behind ends instead of being started', async () => {
  const { parent, child } = await opened();
  await outbox.place.temporal.client.workflow.getHandle(workflowIds.run(parent)).terminate();
  await outbox.admin(`update runs set status = 'failed', finish_reason = 'error', finished_at = now() where id = $1`, [parent]);

  const report = await pass();

  expect(report).toMatchObject({ started: 0, finished: 1 });
  expect(await outbox.runStatus(child)).toBe('cancelled');
});
