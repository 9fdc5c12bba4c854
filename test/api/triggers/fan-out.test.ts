import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFanOut } from '../../../db/events/match-queries.ts';
import { newId } from '../../../db/ids.ts';
import { systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { startMatch } from '../../../domain/events/fan-out.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { fanOutHere, makeTrigger, matchesOf, publish, publishHere, type TriggerScene } from './event-calls.ts';
import { deliver, makeHook, sqlOf } from './hook-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const order = { event_kind: 'shop.order_paid' };
const runsOf = ({ id }: TriggerScene) =>
  sql<Record<string, unknown> & { id: string }>(
    'select id, source, input, session_key, root_event_id, event_depth, untrusted, max_effect, hops, subject_id from runs where trigger_id = ? order by id',
    [id],
  );
const outcomesOf = async ({ tenant }: TriggerScene, eventId: string) =>
  (await matchesOf(world, tenant, eventId)).map(({ outcome, error_code }) => (error_code === null ? outcome : `${outcome} ${error_code}`));
const countOf = async ({ tenant, id }: TriggerScene) =>
  (await world.call(tenant.tokens.viewer, 'GET', `/event-triggers/${id}`)).body.match_count;

test('an event starts one run of each trigger of its kind, filled from it; the event shows them', async () => {
  const scene = await makeTrigger(world, {
    prompt_template: '{{ event.event_kind }} {{ event.subject }} {{ event.payload.total }}',
    input_template: { total: '{{ event.payload.total }}', source: '{{ event.source }}' },
    session_key_template: '{{ event.subject }}',
    subject_template: { kind: 'guest', id: '{{ event.payload.customer }}' },
  });
  const other = await makeTrigger(world, { event_kind: 'shop.**', prompt_template: 'Look.' }, scene.tenant);
  const unmet = await makeTrigger(world, { event_kind: 'crm.**' }, scene.tenant);

  const eventId = await publishHere(world, scene.tenant, { ...order, subject: 'order-7', payload: { total: 12.5, customer: 'c-1' } });

  const [[run], [second]] = [await runsOf(scene), await runsOf(other)];
  expect(run).toMatchObject({
    source: 'event',
    input: { text: 'shop.order_paid order-7 12.5', json: { total: 12.5, source: 'api' } },
    session_key: `event:${scene.id}:order-7`,
    ...{ root_event_id: eventId, event_depth: 1, untrusted: true, max_effect: 'write', hops: 0, subject_id: 'c-1' },
  });
  const started = (trigger: TriggerScene, runId: unknown) => ({
    trigger_id: trigger.id,
    outcome: 'started',
    run_id: runId,
    error_code: null,
  });
  expect(await matchesOf(world, scene.tenant, eventId)).toEqual([started(scene, run?.id), started(other, second?.id)]);
  expect([await countOf(scene), await countOf(other), await countOf(unmet)]).toEqual([1, 1, 0]);
  const view = await world.call(scene.tenant.tokens.viewer, 'GET', `/runs/${String(run?.id)}`);
  expect(view.body).toMatchObject({ source: 'event', trigger_id: scene.id });
});

test('a fan-out that is repeated, also many at once over two processes, starts no second run', async () => {
  const scene = await makeTrigger(world);
  const others = await Promise.all([1, 2, 3].map(() => makeTrigger(world, {}, scene.tenant)));
  const second = await openWorld({ database: world.api.database, redisPrefix: world.api.redisPrefix, keys: world.api.keys });
  try {
    const { body: event } = await publish(world, scene.tenant, order);

    const passes = await Promise.all(
      Array.from({ length: 8 }, (_, n) => fanOutHere(n % 2 === 0 ? world : second, scene.tenant, event.id).catch(() => false)),
    );
    await sql("update events set fan_out = 'pending' where id = ?", [event.id]);
    while (!(await fanOutHere(world, scene.tenant, event.id)));

    expect(passes).toContain(true);
    expect(await outcomesOf(scene, event.id)).toEqual(['started', 'started', 'started', 'started']);
    for (const trigger of [scene, ...others]) expect([(await runsOf(trigger)).length, await countOf(trigger)]).toEqual([1, 1]);
  } finally {
    await second.close();
  }
});

const judged: readonly (readonly [what: string, filter: object, outcome: string])[] = [
  ['equal', { '==': [{ var: 'payload.status' }, 'paid'] }, 'started'],
  ['strictly equal', { '==': [{ var: 'payload.total' }, '100'] }, 'filtered'],
  ['unequal', { '!=': [{ var: 'payload.status' }, 'paid'] }, 'filtered'],
  ['less', { '<': [{ var: 'payload.total' }, 100.5] }, 'started'],
  ['a text that comes later', { '>=': [{ var: 'occurred_at' }, '2020-01-01T00:00:00.000Z'] }, 'started'],
  ['more', { and: [{ '>': [{ var: 'payload.total' }, 99] }, { '>=': [{ var: 'payload.total' }, 100] }] }, 'started'],
  ['not more', { '<=': [{ var: 'payload.total' }, 99] }, 'filtered'],
  ['in a list', { in: [{ var: 'payload.country' }, ['DE', 'AT']] }, 'started'],
  ['in a text', { in: ['ai', { var: 'payload.status' }] }, 'started'],
  ['a position of a list', { '==': [{ var: 'payload.items.1.sku' }, 'b'] }, 'started'],
  ['one of two', { or: [false, { '!': [{ var: 'payload.nothing' }] }] }, 'started'],
  ['a value that is missing', { missing: ['payload.total', 'payload.nothing'] }, 'started'],
  ['none that is missing', { missing: ['payload.total'] }, 'filtered'],
  ['not', { '!': { var: 'payload.total' } }, 'filtered'],
  ['zero and nothing are false', { or: [0, '', null, [], { var: 'payload.zero' }] }, 'filtered'],
  ['an inherited property', { var: 'payload.__proto__.constructor' }, 'filtered'],
  ['a method of a text', { var: 'payload.status.length' }, 'filtered'],
  ['a number and a text in order', { '<': [{ var: 'payload.total' }, '200'] }, 'failed filter_error'],
  ['nothing in order', { '>': [{ var: 'payload.nothing' }, 1] }, 'failed filter_error'],
  ['in what holds nothing', { in: ['a', { var: 'payload.total' }] }, 'failed filter_error'],
  ['an error behind what decides', { and: [false, { in: ['a', 1] }] }, 'filtered'],
];

test.each(judged)('a filter: %s', async (_what, filter, outcome) => {
  const scene = await makeTrigger(world, { filter });
  const payload = { status: 'paid', total: 100, country: 'DE', zero: 0, items: [{ sku: 'a' }, { sku: 'b' }] };

  const eventId = await publishHere(world, scene.tenant, { ...order, payload });

  expect(await outcomesOf(scene, eventId)).toEqual([outcome]);
  expect([(await runsOf(scene)).length, await countOf(scene)]).toEqual(outcome === 'started' ? [1, 1] : [0, 0]);
});

test('what can not be started is failed with its reason, and keeps no other trigger from its run', async () => {
  const good = await makeTrigger(world);
  const { tenant } = good;
  const gone = await makeAgent(world, tenant.tokens.admin);
  const loop = '{% for a in (1..300) %}{% for b in (1..300) %}{% for c in (1..300) %}x{% endfor %}{% endfor %}{% endfor %}';
  const made = [
    await makeTrigger(world, { prompt_template: loop }, tenant),
    await makeTrigger(world, { prompt_template: '{{ event.payload.nothing }}' }, tenant),
    await makeTrigger(world, { subject_template: { kind: 'user', id: '{{ event.payload.user }}' } }, tenant),
    await makeTrigger(world, { agent_id: gone.id }, tenant),
  ];
  const last = await makeTrigger(world, { persona_slug_template: 'nobody' }, tenant);
  await sql('update agents set deleted_at = now() where id = ?', [gone.id]);

  const eventId = await publishHere(world, tenant, { ...order, payload: { user: 'nobody' } });

  const reasons = ['template_limit', 'template_limit', 'subject_unknown', 'agent_unusable'].map((reason) => `failed ${reason}`);
  expect(await outcomesOf(good, eventId)).toEqual(['started', ...reasons, 'started']);
  for (const trigger of made) expect([(await runsOf(trigger)).length, await countOf(trigger)]).toEqual([0, 1]);
  expect((await runsOf(last)).length).toBe(1);
});

test('what may start in a moment is tried again until it does, and keeps no other trigger from being judged', async () => {
  const scene = await makeTrigger(world);
  const { tenant } = scene;
  const unmet = await makeTrigger(world, { filter: { var: 'payload.nothing' } }, tenant);
  const setReserved = (amount: string) =>
    sql('update budget_windows set reserved = ? where workspace_id = ?', [amount, tenant.workspaceId]);
  await world.call(tenant.tokens.admin, 'PUT', `/budgets/${tenant.workspaceId}`, { body: { limit_amount: '1', is_enforced: true } });
  await setReserved('1');
  const { body: event } = await publish(world, tenant, order);

  await expect(fanOutHere(world, tenant, event.id)).rejects.toMatchObject({ type: 'rate_limited', nonRetryable: false });
  const meanwhile = await matchesOf(world, tenant, event.id);
  await setReserved('0');
  const isDone = await fanOutHere(world, tenant, event.id);

  expect(meanwhile).toMatchObject([{ trigger_id: unmet.id, outcome: 'filtered' }]);
  expect([isDone, await outcomesOf(scene, event.id)]).toEqual([true, ['started', 'filtered']]);
});

test('where a budget is spent an event starts nothing, and says why', async () => {
  const scene = await makeTrigger(world);
  const { tenant } = scene;
  await world.call(tenant.tokens.admin, 'PUT', `/budgets/${tenant.workspaceId}`, { body: { limit_amount: '0', is_enforced: true } });

  const eventId = await publishHere(world, tenant, order);

  expect(await outcomesOf(scene, eventId)).toEqual(['failed budget_exceeded']);
});

test('thirty events of one key ask for one signal a second at most, and wait', async () => {
  const scene = await makeTrigger(world, { coalescing: { mode: 'debounce', window_seconds: 3_600 } });
  const startedAt = Date.now();

  const ids: string[] = [];
  for (let n = 0; n < 30; n += 1) ids.push(await publishHere(world, scene.tenant, { ...order, payload: { n } }));

  const seconds = Math.floor(Date.now() / 1_000) - Math.floor(startedAt / 1_000) + 1;
  const [found] = await sql<{ n: number }>("select count(*)::int as n from outbox where target like 'hook:' || ? || ':%'", [scene.id]);
  // By the database's clock, which may be a second apart.
  expect([(found?.n ?? 0) > 0, (found?.n ?? 0) <= seconds + 1]).toEqual([true, true]);
  expect(await Promise.all(ids.map((id) => outcomesOf(scene, id)))).toEqual(ids.map(() => ['coalescing']));
  expect([await runsOf(scene), await countOf(scene)]).toEqual([[], 30]);
});

test('where a trigger was changed or deleted in the middle, the event meets it as it is then', async () => {
  const [deleted, inactive] = [await makeTrigger(world), await makeTrigger(world)];
  for (const { tenant, id } of [deleted, inactive]) {
    const { body: event } = await publish(world, tenant, order);
    const path = `/event-triggers/${id}`;
    if (id === deleted.id) await world.call(tenant.tokens.admin, 'DELETE', path);
    else await world.call(tenant.tokens.admin, 'PATCH', path, { body: { is_active: false } });

    expect(event.fan_out).toBe('pending');
    expect(await fanOutHere(world, tenant, event.id)).toBe(true);
    expect([await matchesOf(world, tenant, event.id), await sql('select id from runs where trigger_id = ?', [id])]).toEqual([[], []]);
    expect(await sql('select fan_out from events where id = ?', [event.id])).toEqual([{ fan_out: 'done' }]);
  }
});

test('a trigger that is changed or deleted between reading and start is not claimed as it was', async () => {
  const [deleted, changed] = [await makeTrigger(world), await makeTrigger(world)];
  for (const { tenant, id } of [deleted, changed]) {
    const { body: event } = await publish(world, tenant, order);
    const options = { tenant: workspaceTenant(tenant.organizationId, tenant.workspaceId), actor: systemActor, correlationId: newId() };
    const { value: read } = await transact(world.api.db, options, (tx) => readFanOut(tx, event.id));
    const path = `/event-triggers/${id}`;
    if (id === deleted.id) await world.call(tenant.tokens.admin, 'DELETE', path);
    else await world.call(tenant.tokens.admin, 'PATCH', path, { body: { prompt_template: 'Another.' } });
    const [trigger] = read?.triggers ?? [];
    if (!read || !trigger) throw new Error('nothing listens');

    const texts = { prompt: 'As it was.', input: null, sessionKey: null, personaSlug: null, subject: null };
    const start = { event: read.event, trigger, texts, coalesceHash: null, occurredAt: new Date(), currency: 'USD', at: new Date() };
    const { value } = await transact(world.api.db, options, (tx) => startMatch(tx, start));

    expect([value, await matchesOf(world, tenant, event.id)]).toEqual(['changed', []]);
    expect(await sql('select id from runs where trigger_id = ?', [id])).toEqual([]);
  }
});

test('a run of an event goes one deeper; at max_depth an event starts nothing', async () => {
  const scene = await makeTrigger(world, { event_kind: '**', max_depth: 2 });
  const { tenant } = scene;
  const eventId = await publishHere(world, tenant, order);
  const chain = [eventId];
  for (const depth of [1, 2]) {
    const [run] = await sql<{ id: string }>('select id from runs where trigger_id = ? and event_depth = ?', [scene.id, depth]);
    chain.push(await publishHere(world, tenant, { event_kind: 'shop.next' }, { 'x-longhaul-run': run?.id ?? '' }));
  }

  const stored = await sql('select depth, root_event_id from events where id = any (?::uuid[]) order by depth', [chain]);
  expect(stored).toEqual([0, 1, 2].map((depth) => ({ depth, root_event_id: eventId })));
  expect(await Promise.all(chain.map((id) => outcomesOf(scene, id)))).toEqual([['started'], ['started'], ['depth_exceeded']]);
  expect([(await runsOf(scene)).length, await countOf(scene)]).toEqual([2, 2]);
});

test('one root starts 200 runs, then no other, however many come at once', async () => {
  const scene = await makeTrigger(world);
  const { tenant } = scene;
  await Promise.all([1, 2, 3].map(() => makeTrigger(world, {}, tenant)));
  const rootId = await publishHere(world, tenant, { event_kind: 'crm.root' });
  const run = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: scene.agentId, input: { text: 'Go.' } } });
  await sql('update events set started_runs = 198 where id = ?', [rootId]);
  await sql('update runs set root_event_id = ?, event_depth = 1 where id = ?', [rootId, run.body.id]);

  const eventId = await publishHere(world, tenant, order, { 'x-longhaul-run': run.body.id });
  const ofOther = await publishHere(world, tenant, order);

  expect((await outcomesOf(scene, eventId)).toSorted()).toEqual(['capped', 'capped', 'started', 'started']);
  expect(await outcomesOf(scene, ofOther)).toEqual(['started', 'started', 'started', 'started']);
  expect(await sql('select started_runs from events where id = ?', [rootId])).toEqual([{ started_runs: 200 }]);
});

test('an event on nobody’s word starts a run that may only read, and for no user', async () => {
  const hook = await makeHook(world, { response_mode: 'ack', event_kind: 'shop.order_paid', verification: 'none' });
  const { tenant } = hook;
  const scene = await makeTrigger(world, { prompt_template: '{{ event.payload.body.n }}' }, tenant);
  const forUser = await makeTrigger(world, { subject_template: { kind: 'user', id: tenant.users.member.id } }, tenant);
  const headers = { 'content-type': 'application/json', 'x-longhaul-hops': '2' };
  const receipt = await world.api.app.inject({ method: 'POST', url: hook.path, payload: '{"n":7}', headers });

  const eventId = receipt.json().event_id as string;
  while (!(await fanOutHere(world, tenant, eventId)));

  expect(await runsOf(scene)).toMatchObject([{ input: { text: '7' }, max_effect: 'read', untrusted: true, hops: 2 }]);
  expect(await outcomesOf(scene, eventId)).toEqual(['started', 'failed subject_unknown']);
  expect(await runsOf(forUser)).toEqual([]);
});

test('a signed delivery’s event may name a user of the workspace', async () => {
  const hook = await makeHook(world, { response_mode: 'ack', event_kind: 'shop.order_paid' });
  const { tenant } = hook;
  const scene = await makeTrigger(world, { subject_template: { kind: 'user', id: '{{ event.payload.body.user }}' } }, tenant);

  const { body } = await deliver(world, hook, { user: tenant.users.member.id });
  while (!(await fanOutHere(world, tenant, body.event_id)));

  expect(await runsOf(scene)).toMatchObject([{ subject_id: tenant.users.member.id, max_effect: 'write', untrusted: true }]);
});

test('runs of evaluations, and those below them, start no triggers', async () => {
  const scene = await makeTrigger(world, { event_kind: '**' });
  const { tenant } = scene;
  const run = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: scene.agentId, input: { text: 'Go.' } } });
  await sql("update runs set source = 'evaluation' where id = ?", [run.body.id]);

  const published = await publish(world, tenant, order, { headers: { 'x-longhaul-run': run.body.id } });
  await world.call(tenant.tokens.member, 'POST', `/runs/${run.body.id}/cancel`, { body: {} });

  expect(published.body).toMatchObject({ fan_out: 'done', cause_run_id: run.body.id });
  expect(await sql('select event_kind from events where workspace_id = ?', [tenant.workspaceId])).toEqual([
    { event_kind: order.event_kind },
  ]);
});

test('a fan-out to a hundred triggers reads them once, and commits once a run and once at its end', async () => {
  const scene = await makeTrigger(world);
  await sql(
    `insert into event_triggers (id, organization_id, workspace_id, agent_id, name, event_kind, prompt_template)
     select gen_random_uuid(), t.organization_id, t.workspace_id, t.agent_id, t.name, t.event_kind, t.prompt_template from event_triggers t, generate_series(1, 99)
      where t.workspace_id = ?`,
    [scene.tenant.workspaceId],
  );
  const { body: event } = await publish(world, scene.tenant, order);
  const { config } = world.api.deps.db.app;
  const onQuery = config.get('onQuery');
  const asked = { triggers: 0, runs: 0, transactions: 0, passes: 0 };
  config.set('onQuery', (text: string, params: readonly unknown[]) => {
    if (/jsonb_agg\(jsonb_build_object\('id', "t"\."id"/.test(text)) asked.triggers += 1;
    if (/insert into "event_matches"/.test(text)) asked.runs += 1;
    if (/set_config\('app.org'/.test(text)) asked.transactions += 1;
    return onQuery(text, params);
  });
  try {
    for (let isDone = false; !isDone; asked.passes += 1) isDone = await fanOutHere(world, scene.tenant, event.id);
  } finally {
    config.set('onQuery', onQuery);
  }

  expect(await sql('select count(*)::int as n from runs where root_event_id = ?', [event.id])).toEqual([{ n: 100 }]);
  // A slow machine needs more than one pass, each of them one query.
  expect([asked.triggers, asked.runs]).toEqual([asked.passes, 100]);
  expect(asked.transactions).toBeGreaterThanOrEqual(100);
  expect(asked.transactions).toBeLessThanOrEqual(100 + 2 * asked.passes);
});

test('an event that is erased meanwhile is over', async () => {
  const { tenant } = await makeTrigger(world);

  expect(await fanOutHere(world, tenant, newId())).toBe(true);
});
