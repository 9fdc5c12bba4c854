import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readHook } from '../../../db/webhooks/hooks.ts';
import { closeTakenGroup, takeDueGroup } from '../../../domain/webhooks/groups.ts';
import { inWorkspace } from '../../support/calls.ts';
import { openWorld, type World } from '../world.ts';
import { deliver, makeHook, send, sqlOf, type HookScene } from './hook-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const runsOf = ({ id }: HookScene) => sql<{ id: string; hops: number }>('select id, hops from runs where trigger_id = ? order by id', [id]);
const deliveriesOf = async ({ tenant, id }: HookScene, query = '?limit=100') =>
  (await world.call(tenant.tokens.member, 'GET', `/webhook-endpoints/${id}/deliveries${query}`)).body.items;
const statusesOf = async (scene: HookScene) => (await deliveriesOf(scene)).map(({ status }: { status: string }) => status);
const change = ({ tenant, id }: HookScene, body: object) => world.call(tenant.tokens.admin, 'PATCH', `/webhook-endpoints/${id}`, { body });
const eventsOf = ({ tenant }: HookScene) =>
  sql<Record<string, unknown> & { id: string; payload: Record<string, unknown> }>(
    'select * from events where workspace_id = ? order by id',
    [tenant.workspaceId],
  );

const debounce = { mode: 'debounce', window_seconds: 3_600, key_template: '{{ body.order }}' };

test('coalescing is read as it was set, with its defaults; null sets none', async () => {
  const scene = await makeHook(world, { coalescing: { mode: 'debounce', window_seconds: 5 } });
  const whole = {
    mode: 'batch',
    key_template: '{{ body.id }}',
    event_time_path: '/at',
    window_seconds: 7,
    max_wait_seconds: null,
    payload: 'all',
    max_batch: 3,
  };

  const changed = await change(scene, { coalescing: whole });
  const kept = await change(scene, { is_active: true });
  const none = await change(scene, { coalescing: null });

  const defaults = { key_template: null, event_time_path: null, max_wait_seconds: 50, payload: 'last', max_batch: 100 };
  expect(scene.view.coalescing).toEqual({ mode: 'debounce', window_seconds: 5, ...defaults });
  expect([changed.body.coalescing, kept.body.coalescing, none.body.coalescing]).toEqual([whole, whole, { mode: 'none' }]);
});

test('what is coalesced is taken without a run; a repeat gets the same answer, a test tells the key', async () => {
  const scene = await makeHook(world, { coalescing: debounce });

  const first = await deliver(world, scene, { order: 1 }, { id: 'msg_1' });
  const again = await deliver(world, scene, { order: 1 }, { id: 'msg_1' });
  const other = await deliver(world, scene, { order: 2 });
  const told = await world.call(scene.tenant.tokens.member, 'POST', `/webhook-endpoints/${scene.id}/test`, {
    body: { body: { order: 1 } },
  });

  const receipt = { delivery_id: expect.any(String), run_id: null, event_id: null, deduplicated: false, coalesced: true };
  expect([first.status, first.body]).toEqual([202, receipt]);
  expect([again.status, again.body]).toEqual([202, { ...first.body, deduplicated: true }]);
  expect(other.body).toEqual(receipt);
  expect(told.body).toMatchObject({ coalesce_key: '1', prompt: expect.stringContaining('"order":1') });
  expect([await runsOf(scene), await statusesOf(scene)]).toEqual([[], ['coalescing', 'coalescing']]);
  const keys = await sql('select distinct coalesce_hash from webhook_deliveries where endpoint_id = ?', [scene.id]);
  expect(keys).toHaveLength(2);
});

test('a hundred deliveries of one key ask for one signal a second at most', async () => {
  const scene = await makeHook(world, { coalescing: debounce, rate_limit_per_minute: 1_000 });
  const startedAt = Date.now();

  // A sender whose delivery is not taken (503) sends it again.
  const insist = async (n: number): Promise<void> => {
    for (let status = 0; status !== 202;) ({ status } = await deliver(world, scene, { order: 1, n }, { id: `msg_${n}` }));
  };
  for (let n = 0; n < 100; n += 10) await Promise.all(Array.from({ length: 10 }, (_, at) => insist(n + at)));

  const seconds = Math.floor(Date.now() / 1_000) - Math.floor(startedAt / 1_000) + 1;
  const [found] = await sql<{ n: number }>("select count(*)::int as n from outbox where target like 'hook:' || ? || ':%'", [scene.id]);
  expect(await statusesOf(scene)).toHaveLength(100);
  // By the database's clock, which may be a second apart.
  expect([(found?.n ?? 0) > 0, (found?.n ?? 0) <= seconds + 1]).toEqual([true, true]);
});

test('the first of a throttled window starts at once, whichever process takes it; the others wait', async () => {
  const scene = await makeHook(world, { coalescing: { mode: 'throttle', window_seconds: 3_600 } });
  const second = await openWorld({ database: world.api.database, redisPrefix: world.api.redisPrefix, keys: world.api.keys });
  try {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => deliver(world, scene, { n }, { api: n % 2 === 0 ? world.api : second.api })),
    );

    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 202));
    expect(answers.filter(({ body }) => body.run_id !== null && !body.coalesced)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.run_id === null && body.coalesced)).toHaveLength(9);
    expect([(await runsOf(scene)).length, (await statusesOf(scene)).toSorted()]).toEqual([
      1,
      [...Array.from({ length: 9 }, () => 'coalescing'), 'started'],
    ]);
  } finally {
    await second.close();
  }
});

test('a group that is closed several times at once has one run, and is not taken again', async () => {
  const scene = await makeHook(world, { coalescing: { mode: 'batch', window_seconds: 3_600, max_batch: 2 } });
  for (const n of [1, 2]) await deliver(world, scene, { n });
  const within = <R>(work: Parameters<typeof inWorkspace<R>>[2]) => inWorkspace(world.api.db, scene.tenant, work);
  const key = { table: 'webhook_deliveries', ownerId: scene.id, hash: createHash('sha256').update('').digest() } as const;
  const take = () => within(async (tx) => takeDueGroup(tx, await readHook(tx, scene.id), key));
  const taken = await Promise.all([take(), take(), take()]);
  const groupIds = new Set(taken.map((group) => (group.state === 'taken' ? group.groupId : group.state)));
  const [groupId = ''] = groupIds;
  const usedIds = (
    await sql<{ id: string }>('select id from webhook_deliveries where group_id = ? order by id desc limit 1', [groupId])
  ).map(({ id }) => id);
  const texts = { prompt: 'Hello', input: null, sessionKey: null, personaSlug: null, subject: null };

  const close = () =>
    within(async (tx) => {
      const hook = await readHook(tx, scene.id);
      if (hook) await closeTakenGroup(tx, hook, { groupId, usedIds, run: { texts, currency: 'USD', hops: 0 }, warnings: [] });
    });
  await Promise.all([close(), close(), close()]);

  expect(groupIds.size).toBe(1);
  expect([(await runsOf(scene)).length, (await statusesOf(scene)).toSorted()]).toEqual([1, ['merged', 'started']]);
  expect(await take()).toEqual({ state: 'idle' });
});

test('what waits is dropped with its endpoint, at once; it can not be replayed before', async () => {
  const [deleted, inactive] = [await makeHook(world, { coalescing: debounce }), await makeHook(world, { coalescing: debounce })];
  const waiting = await deliver(world, deleted, { order: 1 });
  await deliver(world, inactive, { order: 1 });
  const path = `/webhook-endpoints/${deleted.id}/deliveries/${waiting.body.delivery_id}/replay`;
  const replayed = await world.call(deleted.tenant.tokens.member, 'POST', path);

  await world.call(deleted.tenant.tokens.admin, 'DELETE', `/webhook-endpoints/${deleted.id}`);
  await change(inactive, { is_active: false });

  const ids = [deleted.id, inactive.id];
  const rows = await sql<{ status: string }>('select status from webhook_deliveries where endpoint_id = any (?::uuid[])', [ids]);
  expect([replayed.status, replayed.body.context.reason]).toEqual([409, 'not_replayable']);
  expect(rows).toEqual([{ status: 'dropped' }, { status: 'dropped' }]);
});

test('mode ack publishes an event and starts nothing, other modes do both; a long body stays out of the event', async () => {
  const ack = await makeHook(world, { response_mode: 'ack', event_kind: 'shop.order_paid', prompt_template: '{{ body.n }}' });
  const both = await makeHook(world, { event_kind: 'shop.order_paid' });
  const test = await world.call(ack.tenant.tokens.member, 'POST', `/webhook-endpoints/${ack.id}/test`, { body: { body: { n: 1 } } });

  const published = await deliver(world, ack, { n: 1 }, { id: 'msg_1' });
  const again = await deliver(world, ack, { n: 1 }, { id: 'msg_1' });
  const long = await deliver(world, ack, { text: 'x'.repeat(65_536) });
  const started = await deliver(world, both, { n: 2 });

  expect([published.status, published.body]).toEqual([
    200,
    { delivery_id: expect.any(String), run_id: null, event_id: expect.any(String), deduplicated: false, coalesced: false },
  ]);
  expect([again.status, again.body]).toEqual([200, { ...published.body, deduplicated: true }]);
  expect(started.body).toMatchObject({ run_id: expect.any(String), event_id: expect.any(String) });
  expect([await runsOf(ack), await statusesOf(ack), await statusesOf(both)]).toEqual([[], ['published', 'published'], ['started']]);
  const [event, ofLong] = await eventsOf(ack);
  const same = { source: 'webhook', event_kind: 'shop.order_paid', depth: 0, fan_out: 'done', cause_run_id: null };
  expect(event).toMatchObject({ ...same, id: published.body.event_id, root_event_id: published.body.event_id });
  expect(event?.payload).toEqual({ delivery_id: published.body.delivery_id, body: { n: 1 } });
  expect(ofLong?.payload).toEqual({ delivery_id: long.body.delivery_id });
  expect((await eventsOf(both)).map(({ id }) => id)).toEqual([started.body.event_id]);
  expect(test.body).toMatchObject({ would_start: false, prompt: '' });
});

test('a delivery whose run is refused is no event', async () => {
  const scene = await makeHook(world, { event_kind: 'shop.order_paid', subject_template: { kind: 'user', id: '{{ body.user }}' } });

  const refused = await deliver(world, scene, { user: 'nobody' });

  expect([refused.status, await statusesOf(scene), await eventsOf(scene)]).toEqual([409, ['failed'], []]);
});

test('a run knows through how many hooks its cause has come; what is no number counts as none', async () => {
  const scene = await makeHook(world);

  for (const hops of ['7', '', 'x', '-1', '1e3']) await deliver(world, scene, {}, { headers: { 'x-longhaul-hops': hops } });
  const loop = await deliver(world, scene, {}, { headers: { 'x-longhaul-hops': '9' } });

  expect((await runsOf(scene)).map(({ hops }) => hops)).toEqual([7, 0, 0, 0, 0]);
  expect([loop.status, loop.body.context.reason]).toEqual([409, 'loop']);
});

test('the time that its sender says is when a delivery occurred', async () => {
  const coalescing = { ...debounce, event_time_path: '/at' };
  const scene = await makeHook(world, { coalescing, verification: 'none' });
  const times = ['2026-01-02T03:04:05+01:00', 1_767_225_600, '1767225600000', 'yesterday', null];

  for (const at of times) await send(world, scene.path, { body: JSON.stringify({ order: 1, at }) });

  const found = (await deliveriesOf(scene)).map((row: { occurred_at: string; received_at: string }) => [row.occurred_at, row.received_at]);
  const [none, words, ms, seconds, rfc] = found;
  expect([rfc[0], seconds[0], ms[0]]).toEqual(['2026-01-02T02:04:05.000Z', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z']);
  for (const [occurred, received] of [none, words]) expect(Math.abs(Date.parse(occurred) - Date.parse(received))).toBeLessThan(60_000);
});
