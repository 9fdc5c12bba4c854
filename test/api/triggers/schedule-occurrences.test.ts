import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { cancelRun } from '../../../domain/runs/end/cancel-run.ts';
import { finishRun } from '../../../domain/runs/end/finish-run.ts';
import { within } from '../../workflows/schedule-world.ts';
import { openWorld, type World } from '../world.ts';
import { makeSchedule, oneOf, sqlOf, type ScheduleScene } from './schedule-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const trigger = ({ tenant, path }: ScheduleScene, body: object = {}, headers = {}) =>
  world.call(tenant.tokens.member, 'POST', `${path}/trigger`, { body, headers });
const backfill = ({ tenant, path }: ScheduleScene, body: object) => world.call(tenant.tokens.admin, 'POST', `${path}/backfill`, { body });
const occurrences = async ({ tenant, path }: ScheduleScene, query = '') =>
  (await world.call(tenant.tokens.viewer, 'GET', `${path}/occurrences${query}`)).body;
const place = ({ tenant: { organizationId, workspaceId } }: ScheduleScene) => ({ organizationId, workspaceId });
const end = (scene: ScheduleScene, runId: string) => within(world.api.db, place(scene), (tx) => finishRun(tx, { runId, reason: 'stop' }));
const statuses = async (scene: ScheduleScene) =>
  ((await occurrences(scene)).items as { status: string; reason: string | null }[]).map(({ status, reason }) =>
    reason === null ? status : `${status} ${reason}`,
  );

test('created and fired thrice with buffer_one: one live, one buffered, one skipped; the buffered one starts when the first ends', async () => {
  const scene = await makeSchedule(world, {
    overlap: 'buffer_one',
    prompt_template: 'At {{ schedule.local_time }}',
    timezone: 'Asia/Kathmandu',
  });

  const fired = [await trigger(scene), await trigger(scene), await trigger(scene)];

  expect(fired.map(({ status, body }) => [status, body.status, body.reason])).toEqual([
    [202, 'started', null],
    [202, 'buffered', null],
    [202, 'skipped_overlap', 'buffer_full'],
  ]);
  const [first, second] = fired.map(({ body }) => body);
  expect(first).toMatchObject({ schedule_id: scene.id, kind: 'manual', overlap: 'buffer_one', backfill_id: null, finished_at: null });
  await end(scene, first.run_id);
  expect(await statuses(scene)).toEqual(['skipped_overlap buffer_full', 'started', 'succeeded']);
  const run = await oneOf<{ input: { text: string }; source: string; trigger_id: string }>(
    world,
    'select r.input, r.source, r.trigger_id from runs r join schedule_occurrences o on o.run_id = r.id where o.id = ?',
    [second.id],
  );
  expect(run).toEqual({ input: { text: `At ${second.local_time}` }, source: 'schedule', trigger_id: scene.id });
  expect(second.local_time).toMatch(/\+05:45$/);
});

test('many requests at once each are an occurrence of their own; of those with one key one counts', async () => {
  const scene = await makeSchedule(world, { overlap: 'allow_all' });
  const headers = { 'idempotency-key': newId() };

  const many = await Promise.all(Array.from({ length: 8 }, () => trigger(scene)));
  const keyed = [await trigger(scene, {}, headers), await trigger(scene, {}, headers)];

  expect(many.map(({ status, body }) => [status, body.status])).toEqual(Array.from({ length: 8 }, () => [202, 'started']));
  expect(keyed.map(({ body }) => body.id)).toEqual([keyed[0]?.body.id, keyed[0]?.body.id]);
  const rows = await sql<{ nominal_at: string }>('select distinct nominal_at from schedule_occurrences where schedule_id = ?', [scene.id]);
  expect(rows).toHaveLength(9);
});

test('a paused schedule fires by hand, the overlap asked for counts, and cancel_other ends what is live', async () => {
  const scene = await makeSchedule(world, { is_active: false });

  const first = await trigger(scene);
  const skipped = await trigger(scene);
  const beside = await trigger(scene, { overlap: 'allow_all' });
  const instead = await trigger(scene, { overlap: 'cancel_other' });

  expect([first.body.status, skipped.body.status, beside.body.status, instead.body.status]).toEqual([
    'started',
    'skipped_overlap',
    'started',
    'started',
  ]);
  expect(instead.body.overlap).toBe('cancel_other');
  expect(await statuses(scene)).toEqual(['started', 'cancelled', 'skipped_overlap', 'cancelled']);
  expect((await trigger(scene, { overlap: 'sometimes' })).status).toBe(422);
});

test('a start that is refused is the refusal, and leaves no occurrence', async () => {
  const template = await makeSchedule(world, { prompt_template: '{% if now == "x" %}never{% endif %}' });
  const subject = await makeSchedule(world);
  await sql(`update schedules set subject_template = ?::jsonb where id = ?`, [JSON.stringify({ kind: 'user', id: newId() }), subject.id]);
  const agent = await makeSchedule(world);
  await world.call(agent.tenant.tokens.admin, 'PATCH', `/agents/${agent.agentId}`, { body: { is_active: false } });
  const deleted = await makeSchedule(world);
  await world.call(deleted.tenant.tokens.admin, 'DELETE', `/agents/${deleted.agentId}`);
  const budget = await makeSchedule(world);
  const { tokens, workspaceId } = budget.tenant;
  await world.call(tokens.admin, 'PUT', `/budgets/${workspaceId}`, { body: { limit_amount: '0', is_enforced: true } });

  const refusals = await Promise.all([template, subject, agent, deleted, budget].map((scene) => trigger(scene)));

  expect(refusals.map(({ status, body }) => [status, body.context.reason ?? body.code])).toEqual([
    [422, 'template_limit'],
    [409, 'subject_unknown'],
    [409, 'agent_inactive'],
    [409, 'agent_unusable'],
    [402, 'budget_exceeded'],
  ]);
  for (const scene of [template, subject, agent, deleted, budget]) expect(await statuses(scene)).toEqual([]);
});

test('an unknown persona is the default with a reason; what no text of the database holds is replaced', async () => {
  const scene = await makeSchedule(world, {
    persona_slug_template: 'nobody',
    prompt_template: 'a{{ "%00" | url_decode }}b',
    input_template: { at: '{{ schedule.nominal_at }}', whole: '{{ schedule }}', nul: 'c{{ "%00" | url_decode }}' },
    session_key_template: '{{ schedule.name }}',
    subject_template: { kind: 'guest', id: 'g-{{ schedule.name }}' },
  });

  const { body } = await trigger(scene);

  expect(body).toMatchObject({ status: 'started', reason: 'persona_unknown' });
  const run = await oneOf<{ input: { text: string; json: object }; session_key: string; subject_id: string }>(
    world,
    'select input, session_key, subject_id from runs where id = ?',
    [body.run_id],
  );
  expect(run).toMatchObject({ session_key: `schedule:${scene.id}:Report`, subject_id: 'g-Report' });
  expect(run?.input).toEqual({
    text: 'a\uFFFDb',
    json: { at: body.nominal_at, whole: expect.objectContaining({ id: scene.id, name: 'Report' }), nul: 'c\uFFFD' },
  });
});

test('deleting cancels what is buffered and the backfills; a run that ends then starts nothing', async () => {
  const scene = await makeSchedule(world, { overlap: 'buffer_one', cron: '0 * * * *' });
  const first = await trigger(scene);
  await trigger(scene);
  await backfill(scene, { from: '2026-01-01T00:00:00Z', to: '2026-01-01T03:00:00Z' });

  await world.call(scene.tenant.tokens.member, 'DELETE', scene.path);
  await end(scene, first.body.run_id);

  const rows = await sql<{ status: string }>('select status from schedule_occurrences where schedule_id = ? order by nominal_at', [
    scene.id,
  ]);
  expect(rows.map(({ status }) => status)).toEqual(['succeeded', 'cancelled']);
  expect(await sql('select status from schedule_backfills where schedule_id = ?', [scene.id])).toEqual([{ status: 'cancelled' }]);
});

test('a run that is cancelled before it begins closes its occurrence', async () => {
  const scene = await makeSchedule(world);
  const { body } = await trigger(scene);

  await within(world.api.db, place(scene), (tx) => cancelRun(tx, { runId: body.run_id, policy: 'interrupt', reason: 'user' }));

  expect(await statuses(scene)).toEqual(['cancelled']);
});

const day = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T23:59:59Z' };

test('a backfill tells what it would start; more than max_runs is 422 with the number; a dry run leaves nothing', async () => {
  const scene = await makeSchedule(world, { cron: '0 * * * *' });

  const dry = await backfill(scene, { ...day, dry_run: true });
  const over = await backfill(scene, { ...day, max_runs: 23 });
  const dryOver = await backfill(scene, { ...day, max_runs: 23, dry_run: true });
  const long = await backfill(scene, { from: '2025-06-01T00:00:00Z', to: '2026-06-01T00:00:00Z' });

  expect(dry.status).toBe(202);
  expect(dry.body).toMatchObject({
    id: null,
    dry_run: true,
    planned: 24,
    already_run: 0,
    overlap: 'sequential',
    status: 'queued',
    started: 0,
    failed: 0,
  });
  expect(dry.body.instants.slice(0, 2)).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z']);
  expect([over, dryOver, long].map(({ status, body }) => [status, body.context.planned, body.errors[0].pointer])).toEqual([
    [422, 24, '/max_runs'],
    [422, 24, '/max_runs'],
    [422, 8_761, '/max_runs'],
  ]);
  expect(await sql('select id from schedule_backfills where schedule_id = ?', [scene.id])).toEqual([]);
  expect(await statuses(scene)).toEqual([]);
});

test('instants that have a run are left out, whether by the clock, buffered or by a backfill; others count again', async () => {
  const scene = await makeSchedule(world, { cron: '0 * * * *' });
  const { body: run } = await trigger(scene);
  const insert = (kind: string, at: string, status: string, runId: string | null) =>
    sql(
      `insert into schedule_occurrences (id, organization_id, workspace_id, schedule_id, kind, nominal_at, local_time, status, overlap, run_id)
       values (?, ?, ?, ?, ?, ?, ?, ?, 'skip', ?)`,
      [newId(), scene.tenant.organizationId, scene.tenant.workspaceId, scene.id, kind, at, at, status, runId],
    );
  await insert('regular', '2026-01-01T01:00:00Z', 'succeeded', run.run_id);
  await insert('regular', '2026-01-01T02:00:00Z', 'missed', null);
  await insert('backfill', '2026-01-01T03:00:00Z', 'failed', run.run_id);
  await insert('regular', '2026-01-01T04:00:00Z', 'buffered', null);
  await insert('manual', '2026-01-01T05:00:00Z', 'succeeded', run.run_id);

  const { body } = await backfill(scene, { ...day, dry_run: true });

  expect([body.planned, body.already_run]).toEqual([21, 3]);
  const hours = (body.instants as string[]).slice(0, 4).map((at) => Number(at.slice(11, 13)));
  expect(hours).toEqual([0, 2, 5, 6]);
});

test.each([
  ['an end before its beginning', { from: day.to, to: day.from }, '/to'],
  ['the future', { from: '2026-01-01T00:00:00Z', to: '2999-01-01T00:00:00Z' }, '/to'],
  ['367 days', { from: '2024-01-01T00:00:00Z', to: '2025-01-02T00:00:01Z' }, '/to'],
  ['no beginning', { to: day.to }, '/from'],
  ['no time', { from: 'yesterday', to: day.to }, '/from'],
  ['1001 runs', { ...day, max_runs: 1_001 }, '/max_runs'],
  ['no runs', { ...day, max_runs: 0 }, '/max_runs'],
  ['an overlap of schedules', { ...day, overlap: 'skip' }, '/overlap'],
])('a backfill of %s is 422', async (_what, body, pointer) => {
  const scene = await makeSchedule(world, { cron: '0 0 1 1 *' });

  const refused = await backfill(scene, body);

  expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, pointer]);
});

test('an interval has no instant before it was made, and a backfill of a spent budget is refused', async () => {
  const scene = await makeSchedule(world, { every_seconds: 60 });
  const none = await backfill(scene, day);
  const { tokens, workspaceId } = scene.tenant;
  await world.call(tokens.admin, 'PUT', `/budgets/${workspaceId}`, { body: { limit_amount: '0', is_enforced: true } });

  const refused = await backfill(scene, day);

  expect([none.status, none.body.planned, refused.status]).toEqual([202, 0, 402]);
});

test('occurrences are listed by filter and page, with what is to come ahead of the first page', async () => {
  const scene = await makeSchedule(world, { cron: '0 * * * *', overlap: 'allow_all' });
  const fired: string[] = [];
  for (let at = 0; at < 3; at++) fired.unshift((await trigger(scene)).body.id);

  const first = await occurrences(scene, '?limit=2&upcoming=2');
  const second = await occurrences(scene, `?limit=2&upcoming=2&cursor=${encodeURIComponent(first.next_cursor)}`);
  const coming = await occurrences(scene, '?status=upcoming&upcoming=50');
  const counted = await occurrences(scene, '?offset=0&limit=1');
  const ids = (page: { items: { id: string | null }[] }) => page.items.map(({ id }) => id);

  expect(ids(first)).toEqual([null, null, fired[0], fired[1]]);
  expect(ids(second)).toEqual([fired[2]]);
  expect(first.items.slice(0, 2).map((item: { status: string; kind: string }) => `${item.status} ${item.kind}`)).toEqual([
    'upcoming regular',
    'upcoming regular',
  ]);
  expect(coming.items).toHaveLength(50);
  expect(counted.total).toBe(3);
  const times = coming.items.map((item: { nominal_at: string }) => Date.parse(item.nominal_at)) as number[];
  expect(times).toEqual(times.toSorted((left, right) => right - left));
  expect(ids(await occurrences(scene, '?kind=manual&status=started&upcoming=5'))).toEqual(fired);
  expect(ids(await occurrences(scene, '?kind=backfill'))).toEqual([]);
  expect(ids(await occurrences(scene, '?from=2999-01-01T00:00:00Z'))).toEqual([]);
  await world.call(scene.tenant.tokens.member, 'PATCH', scene.path, { body: { is_active: false } });
  expect((await occurrences(scene, '?upcoming=5&limit=1')).items).toHaveLength(1);
  const wrong = await Promise.all(
    ['?upcoming=51', '?status=lost', '?kind=odd', '?from=now', '?nonsense=1'].map((query) =>
      world.call(scene.tenant.tokens.viewer, 'GET', `${scene.path}/occurrences${query}`),
    ),
  );
  expect(wrong.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422]);
});
