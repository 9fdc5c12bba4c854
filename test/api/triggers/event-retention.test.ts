import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eraseOldDeliveries } from '../../../domain/retention.ts';
import { openWorld, type World } from '../world.ts';
import { makeTrigger, publish, publishHere } from './event-calls.ts';
import { sqlOf } from './hook-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const order = { event_kind: 'shop.order_paid' };

test('events past 90 days are gone with what became of them, keys past 24 hours too; the count of their trigger stays', async () => {
  const scene = await makeTrigger(world);
  const { tenant } = scene;
  const old = await publishHere(world, tenant, { ...order, dedupe_key: 'old' });
  const young = await publishHere(world, tenant, { ...order, dedupe_key: 'young' });
  await sql(
    "update events set created_at = now() - case when id = ? then interval '91 days' else interval '89 days' end where workspace_id = ?",
    [old, tenant.workspaceId],
  );
  await sql("update event_keys set expires_at = now() - interval '1 second' where event_id = ?", [old]);

  await eraseOldDeliveries(world.api.db, new AbortController().signal);

  const left = await world.call(tenant.tokens.viewer, 'GET', '/events');
  expect(left.body.items.map(({ id }: { id: string }) => id)).toEqual([young]);
  expect(await sql('select event_id from event_matches where trigger_id = ?', [scene.id])).toEqual([{ event_id: young }]);
  expect(await sql('select event_id from event_keys where workspace_id = ?', [tenant.workspaceId])).toEqual([{ event_id: young }]);
  const trigger = await world.call(tenant.tokens.viewer, 'GET', `/event-triggers/${scene.id}`);
  expect(trigger.body.match_count).toBe(2);
});

test('with a run that is erased go the words of the event that started it, and of those that it caused', async () => {
  const scene = await makeTrigger(world);
  const { tenant } = scene;
  const said = { subject: 'Ann', payload: { name: 'Ann' }, dedupe_key: 'Ann' };
  const startedBy = await publishHere(world, tenant, { ...order, ...said });
  const [run] = await sql<{ id: string }>('select id from runs where trigger_id = ?', [scene.id]);
  const caused = await publish(
    world,
    tenant,
    { event_kind: 'crm.new', subject: 'Ann', payload: { name: 'Ann' } },
    { headers: { 'x-longhaul-run': run?.id ?? '' } },
  );
  await world.call(tenant.tokens.admin, 'POST', `/runs/${run?.id}/cancel`, { body: {} });

  const erased = await world.call(tenant.tokens.admin, 'DELETE', `/runs/${run?.id}`);

  const rows = await sql('select subject, payload, dedupe_key from events where id = any (?::uuid[])', [[startedBy, caused.body.id]]);
  expect([erased.status, rows]).toEqual([204, Array.from({ length: 2 }, () => ({ subject: null, payload: {}, dedupe_key: null }))]);
});
