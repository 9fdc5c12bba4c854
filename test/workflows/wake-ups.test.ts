import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startRelay } from '../../temporal/relay.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { makeBase } from '../api/knowledge/knowledge-fixture.ts';
import { patient, until } from '../support/temporal.ts';
import { silent } from '../support/worker.ts';
import { words } from './knowledge-world.ts';
import { openOutboxWorld, type OutboxWorld } from './outbox-world.ts';

let outbox: OutboxWorld;

beforeAll(async () => {
  outbox = await openOutboxWorld();
});
afterAll(() => outbox.close());

const count = 20;

/** A base to which items are added one by one, each too long for its request. */
async function longItems() {
  const tenant = await outbox.world.tenant();
  const kbId = await makeBase(outbox.world, tenant);
  const workflowId = workflowIds.indexBase(kbId);
  return {
    add: async (n: number) => {
      for (let at = 0; at < n; at += 1) {
        const body = { content: words(crypto.randomUUID(), 250), on_duplicate: 'allow' };
        const made = await outbox.world.call(tenant.tokens.member, 'POST', `/knowledge-bases/${kbId}/items`, { body });
        expect(made).toMatchObject({ status: 201, body: { index_state: 'pending' } });
      }
    },
    unsent: async () =>
      (await outbox.admin('select id from outbox where target = $1 and sent_at is null order by id', [workflowId])).map(({ id }) =>
        String(id),
      ),
    /** Nobody works for the namespace: its history holds every call that woke the workflow. */
    calls: async () => {
      const { events } = await outbox.place.temporal.client.workflow.getHandle(workflowId).fetchHistory();
      return (events ?? []).filter(({ workflowExecutionSignaledEventAttributes: signaled }) => signaled).length;
    },
    age: () => outbox.admin(`update outbox set created_at = now() - interval '10 s', not_before = now() where target = $1`, [workflowId]),
  };
}

test('items that are added one by one wake the index of their base a few times, not once each; one that comes later wakes it again', async () => {
  const items = await longItems();
  await items.add(count);
  const rows = await items.unsent();
  expect(rows).toHaveLength(count);

  await Promise.all(rows.map((id) => outbox.send([id])));
  await until(async () => (await items.unsent()).length === 0);
  const first = await items.calls();
  await items.add(1);
  await outbox.send(await items.unsent());
  await until(async () => (await items.unsent()).length === 0);

  expect(first).toBeGreaterThanOrEqual(1);
  expect(first).toBeLessThanOrEqual(3);
  expect(await items.calls()).toBe(first + 1);
});

test('a relay settles what wakes one workflow by a call for all of it', async () => {
  const items = await longItems();
  await items.add(count);
  await items.age();
  const { db } = outbox.world.api;
  const relay = startRelay({ temporal: patient(outbox.place.temporal), db, log: silent });
  await relay.stop();

  await relay.pass();

  // A relay sends three rows at a time, and takes six.
  expect(await items.calls()).toBeLessThanOrEqual(3);
  await until(async () => (await relay.pass(), (await items.unsent()).length === 0));
  expect(await items.calls()).toBeLessThanOrEqual(3);
});
