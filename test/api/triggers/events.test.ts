import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { makeTrigger, publish } from './event-calls.ts';
import { deliver, makeHook, sqlOf } from './hook-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const startsOf = (eventId: string) => sql('select id from outbox where dedupe_key = ?', [`event:${eventId}`]);
const order = { event_kind: 'shop.order_paid' };

test('an event is read as it was published; one that nobody listens to is done, without a workflow', async () => {
  const tenant = await world.tenant();
  const body = { ...order, subject: 'order-1', payload: { total: 12.5 }, dedupe_key: 'paid-1', occurred_at: '2026-01-02T03:04:05.678Z' };

  const published = await publish(world, tenant, body);
  const listed = await world.call(tenant.tokens.viewer, 'GET', '/events');

  const { id } = published.body;
  expect(published.status).toBe(202);
  expect(published.body).toEqual({
    ...body,
    id,
    source: 'api',
    depth: 0,
    root_event_id: id,
    cause_run_id: null,
    deduplicated: false,
    fan_out: 'done',
    matches: [],
    created_at: expect.any(String),
  });
  expect([listed.body.items, await startsOf(id)]).toEqual([[published.body], []]);
});

const listening: readonly (readonly [glob: string, kind: string, listens: boolean])[] = [
  ['shop.order_paid', 'shop.order_paid', true],
  ['shop.*', 'shop.order_paid', true],
  ['shop.*', 'shop', false],
  ['shop.*', 'shop.order.paid', false],
  ['*.order_paid', 'shop.order_paid', true],
  ['shop.**', 'shop.order.paid', true],
  ['shop.**', 'shop', false],
  ['shop.**', 'shopping.order', false],
  ['**', 'shop', true],
  ['*', 'shop.order', false],
  ['shop.order_paid', 'shop.orderxpaid', false],
  ['shop.*.paid', 'shop.order.paid', true],
];

test.each(listening)('a trigger for %s and an event %s: the fan-out is started %s', async (glob, kind, listens) => {
  const { tenant } = await makeTrigger(world, { event_kind: glob });

  const published = await publish(world, tenant, { event_kind: kind });
  const found = await world.call(tenant.tokens.viewer, 'GET', `/events?event_kind=${encodeURIComponent(glob)}`);

  expect([published.body.fan_out, (await startsOf(published.body.id)).length]).toEqual(listens ? ['pending', 1] : ['done', 0]);
  expect(found.body.items.map(({ id }: { id: string }) => id)).toEqual(listens ? [published.body.id] : []);
});

const faults: readonly (readonly [what: string, body: unknown, status: number, pointer?: string])[] = [
  ['no kind', {}, 422, '/event_kind'],
  ['a kind that is a number', { event_kind: 1 }, 422, '/event_kind'],
  ['a kind with a capital', { event_kind: 'Shop.paid' }, 422, '/event_kind'],
  ['a glob', { event_kind: 'shop.*' }, 422, '/event_kind'],
  ['seven segments', { event_kind: 'a.b.c.d.e.f.g' }, 422, '/event_kind'],
  ['a kind of the platform', { event_kind: 'run.failed' }, 422, '/event_kind'],
  ['the first segment of one', { event_kind: 'system' }, 422, '/event_kind'],
  ['a subject of 201', { ...order, subject: 'x'.repeat(201) }, 422, '/subject'],
  ['a key of 201', { ...order, dedupe_key: 'x'.repeat(201) }, 422, '/dedupe_key'],
  ['a list as payload', { ...order, payload: [] }, 422, '/payload'],
  ['a payload over 64 KB', { ...order, payload: { text: 'x'.repeat(65_536) } }, 422, '/payload'],
  ['a payload that is too deep', `{"event_kind":"shop.paid","payload":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`, 422, '/payload'],
  ['U+0000', { ...order, subject: 'a\u0000b' }, 422, '/subject'],
  ['a time that is none', { ...order, occurred_at: 'yesterday' }, 422, '/occurred_at'],
  ['another field', { ...order, depth: 9 }, 422, '/depth'],
  ['broken JSON', '{"event_kind":', 400, undefined],
];

test.each(faults)('%s is refused, and leaves no event', async (_what, body, status, pointer) => {
  const tenant = await world.tenant();

  const refused = await publish(world, tenant, body);

  expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([status, pointer]);
  expect(await sql('select id from events where workspace_id = ?', [tenant.workspaceId])).toEqual([]);
});

test('keys that lead to prototypes are data or refused, and never found by a filter', async () => {
  const tenant = await world.tenant();

  const taken = await publish(world, tenant, '{"event_kind":"shop.paid","payload":{"constructor":{"x":1}}}');
  const proto = await publish(world, tenant, '{"event_kind":"shop.paid","payload":{"__proto__":{"admin":true}}}');

  expect([taken.status, taken.body.payload]).toEqual([202, { constructor: { x: 1 } }]);
  expect(proto.status === 202 ? proto.body.payload : proto.status).toEqual(proto.status === 202 ? {} : proto.status);
  expect(({} as { admin?: boolean }).admin).toBeUndefined();
});

test('of ten equal ones over two processes one counts; in another workspace the key is free', async () => {
  const [one, other] = [await makeTrigger(world), await makeTrigger(world)];
  const second = await openWorld({ database: world.api.database, redisPrefix: world.api.redisPrefix, keys: world.api.keys });
  try {
    const body = { ...order, dedupe_key: 'order-1', payload: { n: 1 } };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => publish(world, one.tenant, body, { api: n % 2 === 0 ? world.api : second.api })),
    );
    const elsewhere = await publish(world, other.tenant, body);

    const taken = answers.filter(({ status }) => status === 202);
    const ids = new Set(taken.map(({ body: { id } }) => id));
    expect([ids.size, taken.filter(({ body: { deduplicated } }) => !deduplicated).length]).toEqual([1, 1]);
    expect([elsewhere.body.deduplicated, ids.has(elsewhere.body.id)]).toEqual([false, false]);
    expect(await sql('select id from events where workspace_id = ?', [one.tenant.workspaceId])).toHaveLength(1);
    expect(await startsOf([...ids][0] ?? '')).toHaveLength(1);
  } finally {
    await second.close();
  }
});

test('a repeat within 24 hours gets the first, whatever else it says; after them it counts', async () => {
  const tenant = await world.tenant();
  const body = { ...order, dedupe_key: 'order-1' };

  const first = await publish(world, tenant, { ...body, payload: { n: 1 } });
  const again = await publish(world, tenant, { ...body, payload: { n: 2 } });
  await sql("update event_keys set expires_at = now() - interval '1 second' where workspace_id = ?", [tenant.workspaceId]);
  const later = await publish(world, tenant, body);

  expect(again.body).toEqual({ ...first.body, deduplicated: true });
  expect([later.body.deduplicated, later.body.id === first.body.id]).toEqual([false, false]);
});

test('an Idempotency-Key repeats the reply, and another body under it is refused', async () => {
  const tenant = await world.tenant();
  const headers = { 'idempotency-key': 'event-1' };

  const first = await publish(world, tenant, order, { headers });
  const again = await publish(world, tenant, order, { headers });
  const other = await publish(world, tenant, { event_kind: 'shop.other' }, { headers });

  expect([again.body, again.headers['idempotency-replayed'], other.status]).toEqual([first.body, 'true', 422]);
});

test('events are listed newest first, by their kind and time, and never those of another tenant', async () => {
  const [tenant, other] = [await world.tenant(), await world.tenant()];
  const ids: string[] = [];
  for (const event_kind of ['shop.paid', 'shop.sent', 'crm.new']) ids.unshift((await publish(world, tenant, { event_kind })).body.id);
  await publish(world, other, order);
  const list = async (query: string) => {
    const { status, body } = await world.call(tenant.tokens.viewer, 'GET', `/events${query}`);
    return status === 200 ? body.items.map(({ id }: { id: string }) => id) : [status, body.errors[0].pointer];
  };

  expect(await list('')).toEqual(ids);
  expect(await list('?event_kind=shop.*')).toEqual(ids.slice(1));
  expect(await list('?event_kind=crm.new')).toEqual(ids.slice(0, 1));
  expect(await list('?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z')).toEqual([]);
  expect((await list('?event_kind=shop.(paid%7Csent)'))[0]).toBe(422);
  expect((await list('?from=never'))[0]).toBe(422);
  expect((await list('?source=api'))[0]).toBe(422);
});

test('an event of a run’s tool goes on with the run’s chain; a header that names no run of the workspace counts for nothing', async () => {
  const [tenant, other] = [await world.tenant(), await world.tenant()];
  const runOf = async ({ tokens }: typeof tenant) => {
    const agent = await makeAgent(world, tokens.admin);
    return (await world.call(tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Go.' } } })).body.id as string;
  };
  const [own, foreign] = [await runOf(tenant), await runOf(other)];
  const rootEventId = newId();
  await sql("update runs set root_event_id = ?, event_depth = 2, max_effect = 'read', hops = 3 where id = ?", [rootEventId, own]);

  const ofRun = await publish(world, tenant, order, { headers: { 'x-longhaul-run': own.toUpperCase() } });
  const others = [foreign, newId(), 'x', ''].map((id) => publish(world, tenant, order, { headers: { 'x-longhaul-run': id } }));

  expect(ofRun.body).toMatchObject({ depth: 2, root_event_id: rootEventId, cause_run_id: own });
  const stored = await sql('select max_effect, hops, untrusted from events where id = ?', [ofRun.body.id]);
  expect(stored).toEqual([{ max_effect: 'read', hops: 3, untrusted: true }]);
  for (const { status, body } of await Promise.all(others))
    expect([status, body.depth, body.cause_run_id, body.root_event_id]).toEqual([202, 0, null, body.id]);
});

test('the event of a webhook is one that triggers listen to; nobody’s word makes it read only', async () => {
  const hook = await makeHook(world, { response_mode: 'ack', event_kind: 'shop.order_paid', verification: 'none' });
  const trigger = await makeTrigger(world, {}, hook.tenant);

  const receipt = await world.api.app.inject({ method: 'POST', url: hook.path, payload: { n: 1 }, headers: { 'x-longhaul-hops': '2' } });

  const eventId = receipt.json().event_id as string;
  expect(await startsOf(eventId)).toHaveLength(1);
  const stored = await sql('select fan_out, max_effect, untrusted, hops, source from events where id = ?', [eventId]);
  expect(stored).toEqual([{ fan_out: 'pending', max_effect: 'read', untrusted: true, hops: 2, source: 'webhook' }]);
  expect(trigger.view.match_count).toBe(0);
});

test('a delivery that does not count publishes nothing', async () => {
  const hook = await makeHook(world, { event_kind: 'shop.order_paid' });
  await makeTrigger(world, {}, hook.tenant);

  await deliver(world, hook, { n: 1 }, { id: 'msg_1' });
  await deliver(world, hook, { n: 1 }, { id: 'msg_1' });

  expect(await sql('select id from events where workspace_id = ?', [hook.tenant.workspaceId])).toHaveLength(1);
});

test('an archived workspace takes no event', async () => {
  const { tenant } = await makeTrigger(world);
  await sql('update workspaces set is_active = false where id = ?', [tenant.workspaceId]);

  expect((await publish(world, tenant, order)).status).toBe(423);
});
