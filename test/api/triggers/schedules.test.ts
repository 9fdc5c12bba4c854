import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { makeSchedule, sqlOf } from './schedule-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);

test('a new schedule has the defaults, starts nothing, and is read as it was made', async () => {
  const { tenant, view, id, path, agentId } = await makeSchedule(world, {
    cron: '0 8 * * 1-5',
    timezone: 'Europe/Berlin',
    name: 'Weekdays',
  });
  const { viewer } = tenant.tokens;

  const read = await world.call(viewer, 'GET', path);
  const listed = await world.call(viewer, 'GET', `/schedules?q=EEKD&is_active=true&agent_id=${agentId}`);
  const others = await world.call(viewer, 'GET', '/schedules?is_active=false');
  const none = await world.call(viewer, 'GET', `/schedules?agent_id=${newId()}`);

  expect({ ...read.body, sync_state: 'pending' }).toEqual(view);
  expect(read.headers['etag']).toBe('"1"');
  expect([listed.body.items.length, others.body.items, none.body.items]).toEqual([1, [], []]);
  expect(view).toMatchObject({
    agent_id: agentId,
    name: 'Weekdays',
    cron: '0 8 * * 1-5',
    every_seconds: null,
    run_at: null,
    timezone: 'Europe/Berlin',
    dst: { gap: 'shift', repeat: 'once' },
    overlap: 'skip',
    catch_up_seconds: 600,
    jitter_seconds: 0,
    starts_at: null,
    ends_at: null,
    pause_after_failures: 0,
    is_active: true,
    pause_reason: null,
    last_occurrence_at: null,
    created_by_user_id: tenant.users.member.id,
  });
  expect(view.description).toMatch(/08:00 on Monday, Tuesday, Wednesday, Thursday and Friday/);
  expect(Date.parse(view.next_run_at)).toBeGreaterThan(Date.now());
  expect(await sql('select id from runs where trigger_id = ?', [id])).toEqual([]);
});

const deep = JSON.parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`) as object;
const wrong: readonly (readonly [what: string, more: Record<string, unknown>, pointer: string, rule?: string])[] = [
  ['no name', { name: undefined }, '/name'],
  ['a name of 201', { name: 'x'.repeat(201) }, '/name'],
  ['no prompt', { prompt_template: undefined }, '/prompt_template'],
  ['an empty prompt', { prompt_template: '' }, '/prompt_template'],
  ['a template that does not parse', { prompt_template: '{% if %}' }, '/prompt_template', 'template'],
  ['an unknown filter', { session_key_template: '{{ now | nothing }}' }, '/session_key_template', 'template'],
  ['a removed tag', { persona_slug_template: '{% include "x" %}' }, '/persona_slug_template', 'template'],
  ['a subject that does not parse', { subject_template: { kind: 'guest', id: '{{' } }, '/subject_template/id', 'template'],
  ['an input 17 levels deep', { input_template: deep }, '/input_template', 'max_depth'],
  ['an unknown agent', { agent_id: newId() }, '/agent_id', 'reference'],
  ['no cadence', { every_seconds: undefined }, '/cron', 'oneOf'],
  ['two cadences', { cron: '0 8 * * *' }, '/cron', 'oneOf'],
  ['59 seconds', { every_seconds: 59 }, '/every_seconds'],
  ['more than a year', { every_seconds: 31_536_001 }, '/every_seconds'],
  ['half a second', { every_seconds: 60.5 }, '/every_seconds'],
  ['a time that is none', { every_seconds: null, run_at: 'soon' }, '/run_at'],
  ['a time in the past', { every_seconds: null, run_at: '2020-01-01T00:00:00Z' }, '/run_at', 'range'],
  ['a cron of 201', { every_seconds: null, cron: `${'1,'.repeat(97)}1 * * * *` }, '/cron'],
  ['a day that no year has', { every_seconds: null, cron: '0 8 31 2 *' }, '/cron', 'range'],
  ['an unknown zone', { timezone: 'Mars/Olympus' }, '/timezone', 'format'],
  ['an unknown rule for gaps', { dst: { gap: 'double', repeat: 'once' } }, '/dst/gap'],
  ['an end before the start', { starts_at: '2030-01-02T00:00:00Z', ends_at: '2030-01-01T00:00:00Z' }, '/ends_at', 'range'],
  ['an unknown overlap', { overlap: 'queue' }, '/overlap'],
  ['9 s of catching up', { catch_up_seconds: 9 }, '/catch_up_seconds'],
  ['more than a week of catching up', { catch_up_seconds: 604_801 }, '/catch_up_seconds'],
  ['jitter of more than an hour', { jitter_seconds: 3_601 }, '/jitter_seconds'],
  ['101 failures', { pause_after_failures: 101 }, '/pause_after_failures'],
  ['a reason without a pause', { pause_reason: 'holidays' }, '/pause_reason', 'excluded'],
  ['a reason of the platform', { is_active: false, pause_reason: 'workspace_archived' }, '/pause_reason', 'reserved'],
  ['a reason of 201', { is_active: false, pause_reason: 'x'.repeat(201) }, '/pause_reason'],
  ['a field that nobody knows', { next_run_at: null }, '/next_run_at'],
  ['another organization’s workspace', { workspace_id: newId() }, '/workspace_id'],
];

test('what can not be is 422 at its place, at creation and change, and nothing is stored', async () => {
  const scene = await makeSchedule(world);
  const { tokens, organizationId } = scene.tenant;
  const told: unknown[] = [];
  for (const [what, more, pointer, rule] of wrong) {
    const asked = { agent_id: scene.agentId, name: 'Wrong', prompt_template: 'Go', every_seconds: 60, ...more };
    const { status, body } = await world.call(tokens.admin, 'POST', '/schedules', { body: asked });
    const found = body.errors?.find(
      (error: { pointer: string; rule: string }) => error.pointer === pointer && error.rule === (rule ?? error.rule),
    );
    if (status !== 422 || !found) told.push([what, status, body.errors]);
  }
  for (const [what, change, pointer] of [
    ['no cadence is left', { every_seconds: null }, '/cron'],
    ['another agent', { agent_id: scene.agentId }, '/agent_id'],
    ['a zone that is null', { timezone: null }, '/timezone'],
    ['a broken template', { prompt_template: '{{' }, '/prompt_template'],
  ] as const) {
    const { status, body } = await world.call(tokens.admin, 'PATCH', scene.path, { body: change });
    if (status !== 422 || body.errors?.[0]?.pointer !== pointer) told.push([what, status, body.errors]);
  }

  expect(told).toEqual([]);
  expect(await sql('select version from schedules where organization_id = ?', [organizationId])).toEqual([{ version: 1 }]);
});

test.each([
  ['0 0 * * * *', 10, /five fields/],
  ['* * * *', 7, /five fields/],
  ['0 0 0 1 1 * 2030', 10, /five fields/],
  ['* * ? * *', 4, /\? is not/],
  ['H * * * *', 0, /H is not/],
  ['* * 15W * *', 4, /15W is not/],
  ['60 * * * *', 0, /0 to 59/],
  ['5-1 * * * *', 0, /ends before/],
  ['*/0 * * * *', 2, /step/],
  ['* * L * 1', 8, /L requires/],
])('cron %s is 422 with position %i and the reason, also of a preview', async (cron, position, reason) => {
  const { tenant, agentId } = await makeSchedule(world);
  const body = { agent_id: agentId, name: 'Cron', prompt_template: 'Go', cron };

  const made = await world.call(tenant.tokens.member, 'POST', '/schedules', { body });
  const previewed = await world.call(tenant.tokens.viewer, 'POST', '/schedules/preview', { body: { cron } });

  for (const { status, body: told } of [made, previewed]) {
    expect([status, told.errors[0].pointer, told.errors[0].params.position]).toEqual([422, '/cron', position]);
    expect(told.errors[0].message).toMatch(reason);
  }
});

test('a change keeps the rest, a cadence takes the place of the other, and an old version changes nothing', async () => {
  const { tenant, path, id } = await makeSchedule(world, {
    every_seconds: 3_600,
    session_key_template: 'k',
    input_template: { a: '{{ now }}' },
  });
  const change = (body: object, headers = {}) => world.call(tenant.tokens.member, 'PATCH', path, { body, headers });

  const slower = await change({ every_seconds: 10_800 });
  const cron = await change({ cron: '0 8 * * *', timezone: 'America/New_York', dst: { gap: 'skip', repeat: 'twice' } });
  const cleared = await change({ session_key_template: null, input_template: null });
  const stale = await change({ name: 'Stale' }, { 'if-match': '"1"' });
  const both = await change({ cron: '0 9 * * *', every_seconds: 60 });
  const same = await change({ name: 'Report' });

  expect([slower.status, slower.body.every_seconds, slower.headers['etag']]).toEqual([200, 10_800, '"2"']);
  expect(cron.body).toMatchObject({ cron: '0 8 * * *', every_seconds: null, timezone: 'America/New_York', session_key_template: 'k' });
  expect(cron.body.description).toContain('08:00 every day (America/New_York)');
  expect(cleared.body).toMatchObject({ session_key_template: null, input_template: null, cron: '0 8 * * *' });
  expect([stale.status, both.status, same.status, same.headers['etag']]).toEqual([412, 422, 200, '"4"']);
  const sent = await sql<{ dedupe_key: string }>('select dedupe_key from outbox where dedupe_key like ? order by id', [
    `trigger-sync:${id}:%`,
  ]);
  expect(sent.map(({ dedupe_key: key }) => key.split(':').at(-1))).toEqual(['1', '2', '3', '4']);
});

test('a pause shows no next instant and its reason; going on counts from then and forgets failures', async () => {
  const { tenant, path, id } = await makeSchedule(world, { every_seconds: 60 });
  const change = (body: object) => world.call(tenant.tokens.member, 'PATCH', path, { body });

  const paused = await change({ is_active: false, pause_reason: 'holidays' });
  await sql(
    "update schedules set evaluated_until = now() - interval '2 days', next_run_at = now() - interval '1 day', failure_streak = 3 where id = ?",
    [id],
  );
  const resumed = await change({ is_active: true });

  expect(paused.body).toMatchObject({ is_active: false, pause_reason: 'holidays', next_run_at: null });
  expect(resumed.body).toMatchObject({ is_active: true, pause_reason: null });
  expect(Date.parse(resumed.body.next_run_at)).toBeGreaterThan(Date.now() - 1_000);
  const [stored] = await sql<{ ahead: boolean; failure_streak: number }>(
    "select fires_after = evaluated_until and fires_after > now() - interval '1 hour' as ahead, failure_streak from schedules where id = ?",
    [id],
  );
  expect(stored).toEqual({ ahead: true, failure_streak: 0 });
  expect(
    await sql("select event_kind from events where event_kind = 'schedule.paused' and payload ->> 'schedule_id' = ?", [id]),
  ).toHaveLength(1);
});

test('a schedule whose agent is deleted pauses and can not go on', async () => {
  const { tenant, path, agentId } = await makeSchedule(world);
  await world.call(tenant.tokens.admin, 'DELETE', `/agents/${agentId}`);

  const read = await world.call(tenant.tokens.viewer, 'GET', path);
  const resumed = await world.call(tenant.tokens.member, 'PATCH', path, { body: { is_active: true } });

  expect(read.body).toMatchObject({ is_active: false, pause_reason: 'agent_deleted', next_run_at: null });
  expect([resumed.status, resumed.body.code, resumed.body.context.reason]).toEqual([409, 'state_conflict', 'agent_deleted']);
});

test('a member has runs work for nobody else: not by a template, nor by a new prompt of a schedule that does', async () => {
  const own = await makeSchedule(world);
  const { tenant, agentId } = own;
  const { tokens, users } = tenant;
  const make = (token: string, id: string) =>
    world.call(token, 'POST', '/schedules', {
      body: { agent_id: agentId, name: 'For', prompt_template: 'Go', every_seconds: 60, subject_template: { kind: 'user', id } },
    });

  const self = await make(tokens.member, users.member.id);
  const other = await make(tokens.member, users.admin.id);
  const template = await make(tokens.member, '{{ schedule.name }}');
  const byAdmin = await make(tokens.admin, users.member.id);
  const forAdmin = await make(tokens.admin, users.admin.id);
  const change = (body: object) => world.call(tokens.member, 'PATCH', `/schedules/${forAdmin.body.id}`, { body });

  expect([self.status, other.status, template.status, byAdmin.status]).toEqual([201, 403, 403, 201]);
  expect((await change({ prompt_template: 'Tell me all' })).status).toBe(403);
  expect((await change({ is_active: false })).status).toBe(200);
});

test('what is deleted is 404 everywhere and foreign ids are no others', async () => {
  const { tenant, path } = await makeSchedule(world);
  const stranger = await world.tenant();
  const call = (token: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', tail = '', body: object | undefined = undefined) =>
    world.call(token, method, `${path}${tail}`, body === undefined ? {} : { body });
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:00:00Z' };
  const all = async (token: string) =>
    (
      await Promise.all([
        call(token, 'GET'),
        call(token, 'PATCH', '', { name: 'x' }),
        call(token, 'POST', '/trigger', {}),
        call(token, 'POST', '/backfill', range),
        call(token, 'GET', '/occurrences'),
        call(token, 'DELETE'),
      ])
    ).map(({ status }) => status);

  expect(await all(stranger.tokens.admin)).toEqual([404, 404, 404, 404, 404, 404]);
  expect((await call(tenant.tokens.member, 'DELETE')).status).toBe(204);
  expect(await all(tenant.tokens.admin)).toEqual([404, 404, 404, 404, 404, 404]);
});

test('a workspace has at most 500 schedules, also when two come at once', async () => {
  const { tenant, id, agentId } = await makeSchedule(world);
  await sql(
    `insert into schedules (id, organization_id, workspace_id, agent_id, name, description, every_seconds, dst, prompt_template, compiled, evaluated_until)
     select gen_random_uuid(), organization_id, workspace_id, agent_id, name, description, every_seconds, dst, prompt_template, compiled, now()
       from schedules, generate_series(1, 498) where id = ?`,
    [id],
  );
  const body = { agent_id: agentId, name: 'Last', prompt_template: 'Go', every_seconds: 60 };
  const make = () => world.call(tenant.tokens.member, 'POST', '/schedules', { body });

  const made = await Promise.all([make(), make(), make()]);

  expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
  expect(made.find(({ status }) => status === 409)?.body.context.reason).toBe('limit_reached');
});

test('a key that is sent again makes no second schedule, and an archived workspace takes none', async () => {
  const { tenant, agentId, path } = await makeSchedule(world);
  const headers = { 'idempotency-key': newId() };
  const body = { agent_id: agentId, name: 'Once', prompt_template: 'Go', every_seconds: 60 };
  const make = () => world.call(tenant.tokens.member, 'POST', '/schedules', { body, headers });

  const [first, again] = [await make(), await make()];
  await sql('update workspaces set is_active = false where id = ?', [tenant.workspaceId]);
  const frozen = await world.call(tenant.tokens.member, 'PATCH', path, { body: { name: 'x' } });
  const triggered = await world.call(tenant.tokens.member, 'POST', `${path}/trigger`, { body: {} });
  const deleted = await world.call(tenant.tokens.member, 'DELETE', path);

  expect([first.status, again.status, again.body.id]).toEqual([201, 201, first.body.id]);
  expect([frozen.status, triggered.status, deleted.status]).toEqual([423, 423, 204]);
});

test('an agent of another workspace is none', async () => {
  const { organizationOwner, workspaceIds } = await world.tenant({ workspaces: 2 });
  const [mine = '', other = ''] = workspaceIds;
  const agent = await makeAgent(world, organizationOwner.token, { scope: 'workspace', workspace_id: other });
  const body = { agent_id: agent.id, workspace_id: mine, name: 'Far', prompt_template: 'Go', every_seconds: 60 };

  const made = await world.call(organizationOwner.token, 'POST', '/schedules', { body });

  expect([made.status, made.body.errors?.[0]?.pointer]).toEqual([422, '/agent_id']);
});
