import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { makeTrigger, publish, triggerBody } from './event-calls.ts';
import { sqlOf } from './hook-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);

test('a new trigger has the defaults, and is read and listed as it was made', async () => {
  const { tenant, agentId, id, view } = await makeTrigger(world);
  const { viewer, admin } = tenant.tokens;

  const read = await world.call(viewer, 'GET', `/event-triggers/${id}`);
  const listed = await world.call(viewer, 'GET', `/event-triggers?is_active=true&agent_id=${agentId}`);
  const others = await world.call(viewer, 'GET', '/event-triggers?is_active=false');
  const key = { headers: { 'idempotency-key': 'trigger-1' }, body: triggerBody(agentId) };
  const [first, again] = [await world.call(admin, 'POST', '/event-triggers', key), await world.call(admin, 'POST', '/event-triggers', key)];

  expect([read.body, read.headers['etag'], listed.body.items, others.body.items]).toEqual([view, '"1"', [view], []]);
  expect(again.body).toEqual(first.body);
  expect(view).toEqual({
    ...triggerBody(agentId),
    id,
    filter: null,
    input_template: null,
    session_key_template: null,
    persona_slug_template: null,
    subject_template: null,
    coalescing: { mode: 'none' },
    max_depth: 3,
    is_active: true,
    match_count: 0,
    created_by_user_id: tenant.users.admin.id,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
});

const nested = (levels: number) => JSON.parse(`${'{"!":'.repeat(levels - 1)}true${'}'.repeat(levels - 1)}`);
const faults: readonly (readonly [what: string, more: Record<string, unknown>, pointer: string])[] = [
  ['no name', { name: undefined }, '/name'],
  ['a name of 201', { name: 'x'.repeat(201) }, '/name'],
  ['no agent', { agent_id: undefined }, '/agent_id'],
  ['an unknown agent', { agent_id: newId() }, '/agent_id'],
  ['no kind', { event_kind: undefined }, '/event_kind'],
  ['a kind with a capital', { event_kind: 'Shop' }, '/event_kind'],
  ['a kind with half a wildcard', { event_kind: 'shop.order_*' }, '/event_kind'],
  ['a rest in the middle', { event_kind: '**.paid' }, '/event_kind'],
  ['seven segments', { event_kind: 'a.b.c.d.e.f.g' }, '/event_kind'],
  ['a kind of 121', { event_kind: 'a'.repeat(121) }, '/event_kind'],
  ['no prompt', { prompt_template: undefined }, '/prompt_template'],
  ['a template that does not parse', { prompt_template: '{% if %}' }, '/prompt_template'],
  ['an unknown template filter', { session_key_template: '{{ event | nothing }}' }, '/session_key_template'],
  ['an input 17 levels deep', { input_template: JSON.parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`) }, '/input_template'],
  ['a depth of 0', { max_depth: 0 }, '/max_depth'],
  ['a depth of 11', { max_depth: 11 }, '/max_depth'],
  ['a depth that is a text', { max_depth: '3' }, '/max_depth'],
  ['coalescing without a window', { coalescing: { mode: 'batch' } }, '/coalescing/window_seconds'],
  ['a list as filter', { filter: [1] }, '/filter'],
  ['an unknown operator', { filter: { '===': [1, 1] } }, '/filter/==='],
  ['an inherited operator', { filter: { constructor: [1] } }, '/filter/constructor'],
  ['two operators', { filter: { '==': [1, 1], '!=': [1, 2] } }, '/filter'],
  ['no operator', { filter: {} }, '/filter'],
  ['too few arguments', { filter: { and: [{ '==': [1] }] } }, '/filter/and/0/=='],
  ['a path that is no text', { filter: { var: 1 } }, '/filter/var'],
  ['101 nodes', { filter: { or: Array.from({ length: 99 }, () => true) } }, '/filter'],
  ['11 levels', { filter: nested(11) }, '/filter'],
  ['another field', { secret: 'x' }, '/secret'],
];

test.each(faults)('422 for %s, at creation and change', async (_what, more, pointer) => {
  const { tenant, agentId, id } = await makeTrigger(world);
  const [path] = Object.keys(more);
  const isLeftOut = path !== undefined && more[path] === undefined;

  const made = await world.call(tenant.tokens.admin, 'POST', '/event-triggers', { body: triggerBody(agentId, more) });
  const changed = await world.call(tenant.tokens.admin, 'PATCH', `/event-triggers/${id}`, { body: isLeftOut ? { [path]: null } : more });

  for (const { status, body } of [made, changed]) expect([status, body.errors?.[0]?.pointer]).toEqual([422, pointer]);
  expect(await sql('select id from event_triggers where workspace_id = ?', [tenant.workspaceId])).toHaveLength(1);
});

test('a filter of 100 nodes and 10 levels, kinds of the platform and every form of glob are taken', async () => {
  const { tenant, agentId } = await makeTrigger(world);
  const filters = [{ or: Array.from({ length: 98 }, () => true) }, nested(10)];
  const kinds = ['**', '*', 'run.**', 'run.*', '*.failed', 'a.b.c.d.e.f', 'a.b.c.d.e.**', 'alert.firing'];

  for (const more of [...filters.map((filter) => ({ filter })), ...kinds.map((event_kind) => ({ event_kind }))]) {
    const made = await world.call(tenant.tokens.admin, 'POST', '/event-triggers', { body: triggerBody(agentId, more) });
    expect([made.status, made.body]).toEqual([201, expect.objectContaining(more)]);
  }
});

test('what is sent is changed, null clears, a stale tag changes nothing', async () => {
  const { tenant, id, view } = await makeTrigger(world, {
    filter: { '>': [{ var: 'payload.total' }, 1] },
    session_key_template: '{{ event.subject }}',
  });
  const other = await makeAgent(world, tenant.tokens.admin);
  const change = { name: 'Other', agent_id: other.id, event_kind: 'shop.*', filter: null, session_key_template: null, max_depth: 1 };

  const changed = await world.call(tenant.tokens.admin, 'PATCH', `/event-triggers/${id}`, { body: change, headers: { 'if-match': '"1"' } });
  const stale = await world.call(tenant.tokens.admin, 'PATCH', `/event-triggers/${id}`, { body: change, headers: { 'if-match': '"1"' } });

  expect([changed.status, changed.headers['etag'], stale.status]).toEqual([200, '"2"', 412]);
  expect(changed.body).toEqual({ ...view, ...change, updated_at: expect.any(String) });
  const audit = await sql<{ changes: object }>("select changes from audit_entries where resource_id = ? and action = 'update'", [id]);
  expect(audit).toEqual([{ changes: expect.objectContaining({ name: { from: 'Orders', to: 'Other' } }) }]);
});

test('another tenant’s trigger and one that was deleted are 404; roles below admin change nothing', async () => {
  const [own, foreign] = [await makeTrigger(world), await makeTrigger(world)];
  const { admin, member } = own.tenant.tokens;
  const path = `/event-triggers/${own.id}`;

  const answers = [
    await world.call(admin, 'GET', `/event-triggers/${foreign.id}`),
    await world.call(admin, 'PATCH', `/event-triggers/${foreign.id}`, { body: {} }),
    await world.call(admin, 'DELETE', `/event-triggers/${foreign.id}`),
    await world.call(admin, 'POST', '/event-triggers', { body: triggerBody(foreign.agentId) }),
    await world.call(member, 'PATCH', path, { body: {} }),
    await world.call(member, 'DELETE', path),
    await world.call(admin, 'DELETE', path),
    await world.call(admin, 'GET', path),
    await world.call(admin, 'DELETE', path),
  ];

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 422, 403, 403, 204, 404, 404]);
});

test('a workspace has at most 200, also of two that are made at once', async () => {
  const { tenant, agentId } = await makeTrigger(world);
  await sql(
    `insert into event_triggers (id, organization_id, workspace_id, agent_id, name, event_kind, prompt_template)
     select gen_random_uuid(), t.organization_id, t.workspace_id, t.agent_id, t.name, t.event_kind, t.prompt_template from event_triggers t, generate_series(1, 198)
      where t.workspace_id = ?`,
    [tenant.workspaceId],
  );

  const made = await Promise.all(
    [1, 2].map(() => world.call(tenant.tokens.admin, 'POST', '/event-triggers', { body: triggerBody(agentId) })),
  );

  expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  expect(made.find(({ status }) => status === 409)?.body.context.reason).toBe('limit_reached');
});

test('a trigger that is deleted or inactive has no event wait for it', async () => {
  const [deleted, inactive] = [await makeTrigger(world), await makeTrigger(world)];
  await world.call(deleted.tenant.tokens.admin, 'DELETE', `/event-triggers/${deleted.id}`);
  await world.call(inactive.tenant.tokens.admin, 'PATCH', `/event-triggers/${inactive.id}`, { body: { is_active: false } });

  for (const { tenant } of [deleted, inactive]) {
    const published = await publish(world, tenant, { event_kind: 'shop.order_paid' });
    expect([published.status, published.body.fan_out, published.body.matches]).toEqual([202, 'done', []]);
  }
});
