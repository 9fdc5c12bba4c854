import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eraseOldOccurrences } from '../../domain/retention.ts';
import { newId } from '../../db/ids.ts';
import { finishRun } from '../../domain/runs/end/finish-run.ts';
import { change, rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { fireInstant, type Firing } from '../../domain/schedules/fire-instant.ts';
import { recordMissed } from '../../domain/schedules/missed.ts';
import type { Instant } from '../../db/triggers/claim-occurrence.ts';
import { lockSchedule } from '../../db/triggers/schedules.ts';
import type { NewSchedule } from '../../db/triggers/write-schedules.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { makeSchedule, within, type SchedulePlace } from '../workflows/schedule-world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world?.close());

const start = Date.parse('2026-11-28T10:00:00Z');
const hour = (at: number) => new Date(start + at * 3_600_000);
const sql = <T>(text: string, params: readonly unknown[] = []) => sweep(world.api.db, (em) => rows<T>(em, text, params));

interface Scheduled {
  readonly id: string;
  readonly agentId: string;
  readonly place: SchedulePlace;
  readonly token: string;
}

async function scheduled(more: Partial<NewSchedule> = {}): Promise<Scheduled> {
  const { tokens, organizationId, workspaceId } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const place = { organizationId, workspaceId };
  const id = await makeSchedule(world.api.db, place, { agentId: agent.id, everySeconds: 3_600, at: hour(-1), ...more });
  return { id, agentId: agent.id, place, token: tokens.admin };
}

const instant = (at: number, kind: Instant['kind'], backfillId?: string): Instant => ({
  ...{ kind, nominalAt: hour(at), localTime: hour(at).toISOString(), shiftedFrom: null, isSkipped: false },
  ...(backfillId === undefined ? {} : { backfillId }),
});

function fire({ id, place }: Scheduled, what: Instant, more: Partial<Firing> = {}) {
  return within(world.api.db, place, async (tx) => {
    const schedule = await lockSchedule(tx, id);
    if (!schedule) throw new Error('the schedule is gone');
    const rendered = { prompt: 'Go', input: null, sessionKey: null, personaSlug: null, subject: null };
    const firing = { instant: what, rendered, renderFault: null, nextRunAt: null, currency: 'USD', now: what.nominalAt, ...more };
    return fireInstant(tx, schedule, firing);
  });
}

const runsOf = ({ id }: Scheduled) => sql<{ id: string }>('select id from runs where trigger_id = ? order by created_at', [id]);
const eventsOf = async ({ id }: Scheduled) =>
  (
    await sql<{ event_kind: string; payload: object; cause_run_id: string | null }>(
      "select event_kind, payload, cause_run_id from events where payload ->> 'schedule_id' = ? order by id",
      [id],
    )
  ).map(({ event_kind: kind, payload, cause_run_id: cause }) => [kind, Object.keys(payload).toSorted().join(), cause !== null]);

test('a schedule whose agent was deleted as the schedule was created pauses at its first instant', async () => {
  const one = await scheduled();
  await sweep(world.api.db, (em) => change(em, 'update agents set deleted_at = now() where id = ?', [one.agentId]));

  const fired = await fire(one, instant(0, 'regular'));

  expect(fired?.outcome).toMatchObject({ status: 'failed' });
  expect(await sql('select is_active, pause_reason, sync_state from schedules where id = ?', [one.id])).toEqual([
    { is_active: false, pause_reason: 'agent_deleted', sync_state: 'pending' },
  ]);
});

test('an instant has one run, whether the clock or a backfill comes first, or both at once', async () => {
  const [clockFirst, backfillFirst, together] = [await scheduled(), await scheduled(), await scheduled({ overlap: 'allow_all' })];

  await fire(clockFirst, instant(0, 'regular'));
  await fire(clockFirst, instant(0, 'backfill', newId()), { overlap: 'allow_all' });
  await fire(backfillFirst, instant(0, 'backfill', newId()), { overlap: 'allow_all' });
  await fire(backfillFirst, instant(0, 'regular'));
  await Promise.all([
    fire(together, instant(0, 'regular')),
    fire(together, instant(0, 'backfill', newId()), { overlap: 'allow_all' }),
    fire(together, instant(0, 'backfill', newId()), { overlap: 'allow_all' }),
    fire(together, instant(0, 'regular')),
  ]);

  for (const subject of [clockFirst, backfillFirst, together]) expect(await runsOf(subject)).toHaveLength(1);
});

test('what a backfill has started is not noted as missed; what one could not start the next one takes over', async () => {
  const subject = await scheduled();
  const [first, second] = [newId(), newId()];
  await fire(subject, instant(0, 'backfill', first), { overlap: 'allow_all' });
  await fire(subject, instant(1, 'backfill', first), { overlap: 'allow_all', rendered: null, renderFault: 'template' });

  await within(world.api.db, subject.place, async (tx) => {
    const schedule = await lockSchedule(tx, subject.id);
    if (schedule) await recordMissed(tx, schedule, [instant(0, 'regular')], hour(5));
  });
  await fire(subject, instant(1, 'backfill', first), { overlap: 'allow_all' });
  await fire(subject, instant(1, 'backfill', second), { overlap: 'allow_all' });

  const found = await sql<{ kind: string; status: string; backfill_id: string }>(
    'select kind, status, backfill_id from schedule_occurrences where schedule_id = ? order by nominal_at',
    [subject.id],
  );
  expect(found).toEqual([
    { kind: 'backfill', status: 'started', backfill_id: first },
    { kind: 'backfill', status: 'started', backfill_id: second },
  ]);
});

test('what was due before a schedule was made, resumed or given other times is dropped', async () => {
  const subject = await scheduled({ overlap: 'allow_all' });
  await sql('update schedules set fires_after = ? where id = ?', [hour(1), subject.id]);

  for (const at of [0, 1, 2]) await fire(subject, instant(at, 'regular'));

  expect(await runsOf(subject)).toHaveLength(1);
  expect(await sql('select status from schedule_occurrences where schedule_id = ?', [subject.id])).toHaveLength(1);
});

test('failures of backfills pause nothing, and their runs are no overlap', async () => {
  const subject = await scheduled({ pauseAfterFailures: 1 });
  await fire(subject, instant(0, 'backfill', newId()), { overlap: 'allow_all' });
  await fire(subject, instant(1, 'backfill', newId()), { overlap: 'allow_all', rendered: null, renderFault: 'template' });

  const fired = await fire(subject, instant(2, 'regular'));

  expect(fired?.outcome.status).toBe('started');
  expect(await sql('select is_active, failure_streak from schedules where id = ?', [subject.id])).toEqual([
    { is_active: true, failure_streak: 0 },
  ]);
});

test('missed, failed and paused are events with ids only, in the transaction of their cause', async () => {
  const subject = await scheduled({ pauseAfterFailures: 2, overlap: 'allow_all' });

  await fire(subject, instant(0, 'regular'), { now: hour(9) });
  await fire(subject, instant(1, 'regular'), { rendered: null, renderFault: 'template' });
  const started = await fire(subject, instant(2, 'regular'));
  await within(world.api.db, subject.place, (tx) => finishRun(tx, { runId: started?.outcome.runId ?? '', reason: 'error' }));
  await expect(
    within(world.api.db, subject.place, async (tx) => {
      const schedule = await lockSchedule(tx, subject.id);
      if (schedule) await recordMissed(tx, schedule, [instant(4, 'regular')], hour(9));
      throw new Error('taken back');
    }),
  ).rejects.toThrow('taken back');

  expect(await eventsOf(subject)).toEqual([
    ['schedule.missed', 'occurrence_id,schedule_id', false],
    ['schedule.failed', 'occurrence_id,schedule_id', false],
    ['schedule.failed', 'occurrence_id,run_id,schedule_id', true],
    ['schedule.paused', 'schedule_id', false],
  ]);
});

test('a buffered start that is refused when its turn comes keeps no run from ending', async () => {
  const subject = await scheduled({ overlap: 'buffer_one' });
  const live = await fire(subject, instant(0, 'regular'));
  await fire(subject, instant(1, 'regular'));
  await world.call(subject.token, 'PATCH', `/agents/${subject.agentId}`, { body: { is_active: false } });

  await within(world.api.db, subject.place, (tx) => finishRun(tx, { runId: live?.outcome.runId ?? '', reason: 'stop' }));

  const found = await sql<{ status: string }>('select status, reason from schedule_occurrences where schedule_id = ? order by nominal_at', [
    subject.id,
  ]);
  expect(found).toEqual([
    { status: 'succeeded', reason: null },
    { status: 'failed', reason: 'agent_inactive' },
  ]);
});

test('occurrences and backfills go after 400 days', async () => {
  const subject = await scheduled({ overlap: 'allow_all' });
  for (const at of [0, 1]) await fire(subject, instant(at, 'regular'));
  const backfill = (days: number) =>
    sql(
      `insert into schedule_backfills (id, organization_id, workspace_id, schedule_id, range_from, range_to, overlap, planned, already_run, reached, created_at)
       values (?, ?, ?, ?, now(), now(), 'sequential', 1, 0, now(), now() - make_interval(days => ?))`,
      [newId(), subject.place.organizationId, subject.place.workspaceId, subject.id, days],
    );
  await backfill(399);
  await backfill(401);
  await sql("update schedule_occurrences set created_at = now() - interval '401 days' where schedule_id = ? and nominal_at = ?", [
    subject.id,
    hour(0),
  ]);

  expect(await eraseOldOccurrences(world.api.db, new AbortController().signal)).toBe(2);

  const left = await sql('select nominal_at from schedule_occurrences where schedule_id = ?', [subject.id]);
  expect([left.length, (await sql('select id from schedule_backfills where schedule_id = ?', [subject.id])).length]).toEqual([1, 1]);
});
