import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { finishRun } from '../../domain/runs/end/finish-run.ts';
import { sweep } from '../../db/transaction.ts';
import { row, rows } from '../../db/sql.ts';
import { fireInstant, type Firing } from '../../domain/schedules/fire-instant.ts';
import { recordMissed } from '../../domain/schedules/missed.ts';
import { pauseSchedulesOfPlace, resumeSchedulesOfPlace } from '../../domain/triggers/pause.ts';
import { lockSchedule } from '../../db/triggers/schedules.ts';
import type { NewSchedule } from '../../db/triggers/write-schedules.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { makeSchedule, occurrencesOf, scheduleRow, within, type SchedulePlace } from '../workflows/schedule-world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

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

const start = Date.parse('2026-11-28T10:00:00Z');
const hour = (at: number) => new Date(start + at * 3_600_000);

/** Fires one hour of the schedule, `late` seconds after it. */
function fire({ id, place }: Scheduled, at: number, more: Partial<Firing> & { readonly late?: number; readonly isSkipped?: boolean } = {}) {
  return within(world.api.db, place, async (tx) => {
    const schedule = await lockSchedule(tx, id);
    if (!schedule) throw new Error('the schedule is gone');
    await fireInstant(tx, schedule, {
      instant: {
        kind: 'regular',
        nominalAt: hour(at),
        localTime: hour(at).toISOString(),
        shiftedFrom: null,
        isSkipped: more.isSkipped ?? false,
      },
      rendered: { prompt: `At ${at}`, input: null, sessionKey: null, personaSlug: null, subject: null },
      renderFault: null,
      nextRunAt: hour(at + 1),
      currency: 'USD',
      now: new Date(hour(at).getTime() + (more.late ?? 0) * 1_000),
      ...more,
    });
  });
}

const statuses = async ({ id }: Scheduled) =>
  (await occurrencesOf(world.api.db, id)).map(({ status, reason }) => (reason ? `${status} ${reason}` : status));
const runOf = async ({ id }: Scheduled, at: number) => (await occurrencesOf(world.api.db, id))[at]?.run_id ?? '';
const end = (subject: Scheduled, runId: string, reason: 'stop' | 'error' = 'stop') =>
  within(world.api.db, subject.place, (tx) => finishRun(tx, { runId, reason }));

test('an instant that is fired again changes nothing', async () => {
  const subject = await scheduled();

  await Promise.all([fire(subject, 0), fire(subject, 0), fire(subject, 0)]);
  await fire(subject, 0);

  expect(await statuses(subject)).toEqual(['started']);
  const runs = await sweep(world.api.db, (em) =>
    row<{ n: number }>(em, 'select count(*)::int as n from runs where trigger_id = ?', [subject.id]),
  );
  expect(runs?.n).toBe(1);
});

test('skip leaves out what meets a live run; its end makes room', async () => {
  const subject = await scheduled({ overlap: 'skip' });

  await fire(subject, 0);
  await fire(subject, 1);
  await end(subject, await runOf(subject, 0));
  await fire(subject, 2);

  expect(await statuses(subject)).toEqual(['succeeded', 'skipped_overlap', 'started']);
});

test('buffer_one keeps one, which starts in the transaction that ends the run before it', async () => {
  const subject = await scheduled({ overlap: 'buffer_one' });

  for (const at of [0, 1, 2]) await fire(subject, at);
  expect(await statuses(subject)).toEqual(['started', 'buffered', 'skipped_overlap buffer_full']);
  await end(subject, await runOf(subject, 0), 'error');

  expect(await statuses(subject)).toEqual(['failed', 'started', 'skipped_overlap buffer_full']);
  const input = await sweep(world.api.db, (em) =>
    row<{ input: object }>(em, 'select input from runs where trigger_id = ? order by id desc limit 1', [subject.id]),
  );
  expect(input?.input).toEqual({ text: 'At 1' });
});

test('cancel_other cancels what is live and runs the newest', async () => {
  const subject = await scheduled({ overlap: 'cancel_other' });
  await fire(subject, 0);
  const first = await runOf(subject, 0);
  await sweep(world.api.db, (em) => rows(em, "update runs set status = 'running', started_at = now() where id = ?", [first]));

  await fire(subject, 1);
  await fire(subject, 2);
  expect(await statuses(subject)).toEqual(['started', 'skipped_overlap replaced', 'buffered']);
  await end(subject, first);

  expect(await statuses(subject)).toEqual(['cancelled', 'skipped_overlap replaced', 'started']);
});

test('cancel_other beside a run that has not begun: it ends at once and the new one starts', async () => {
  const subject = await scheduled({ overlap: 'cancel_other' });

  await fire(subject, 0);
  await fire(subject, 1);

  expect(await statuses(subject)).toEqual(['cancelled', 'started']);
});

test('allow_all runs beside; late, skipped and unrendered instants have their own ends', async () => {
  const subject = await scheduled({ overlap: 'allow_all', catchUpSeconds: 60 });

  await fire(subject, 0);
  await fire(subject, 1, { late: 59 });
  await fire(subject, 2, { late: 61 });
  await fire(subject, 3, { isSkipped: true });
  await fire(subject, 4, { rendered: null, renderFault: 'template' });
  await fire(subject, 5, {
    rendered: { prompt: 'x', input: null, sessionKey: null, personaSlug: null, subject: { kind: 'user', id: 'nobody' } },
  });

  expect(await statuses(subject)).toEqual([
    'started',
    'started',
    'missed late',
    'skipped_dst',
    'failed template',
    'failed subject_unknown',
  ]);
  expect(await scheduleRow(world.api.db, subject.id)).toMatchObject({ failure_streak: 2, is_active: true });
});

test('a planned run goes on without whoever planned it, and is made for nobody who is deactivated or has moved away', async () => {
  const { tokens, users, organizationOwner, organizationId, workspaceIds } = await world.tenant({ workspaces: 2 });
  const [workspaceId = '', other = ''] = workspaceIds;
  const agent = await makeAgent(world, tokens.admin, { workspace_id: workspaceId });
  const place = { organizationId, workspaceId };
  const own = { agentId: agent.id, everySeconds: 3_600, overlap: 'allow_all', createdByUserId: users.admin.id, at: hour(-1) } as const;
  const subject = { id: await makeSchedule(world.api.db, place, own), agentId: agent.id, place, token: tokens.owner };
  const forUser = (id: string) => ({
    rendered: { prompt: 'x', input: null, sessionKey: null, personaSlug: null, subject: { kind: 'user' as const, id } },
  });
  const { token } = organizationOwner;

  await world.call(token, 'POST', `/users/${users.admin.id}/deactivate`);
  await fire(subject, 0);
  await fire(subject, 1, forUser(users.member.id));
  await fire(subject, 2, forUser(users.admin.id));
  await world.call(token, 'PUT', `/users/${users.member.id}/role`, { body: { role: 'member', scope: 'workspace', workspace_id: other } });
  await fire(subject, 3, forUser(users.member.id));
  await world.call(token, 'PUT', `/workspaces/${workspaceId}/members/${users.member.id}`, { body: { role: 'viewer' } });
  await fire(subject, 4, forUser(users.member.id));

  expect(await statuses(subject)).toEqual(['started', 'started', 'failed subject_unknown', 'failed subject_unknown', 'started']);
});

test('failures in a row pause a schedule; a success forgets them', async () => {
  const subject = await scheduled({ pauseAfterFailures: 2 });

  await fire(subject, 0);
  await end(subject, await runOf(subject, 0), 'error');
  await fire(subject, 1);
  await end(subject, await runOf(subject, 1));
  await fire(subject, 2);
  await end(subject, await runOf(subject, 2), 'error');
  expect(await scheduleRow(world.api.db, subject.id)).toMatchObject({ failure_streak: 1, is_active: true });
  await fire(subject, 3);
  await end(subject, await runOf(subject, 3), 'error');

  expect(await scheduleRow(world.api.db, subject.id)).toMatchObject({ failure_streak: 2, is_active: false, pause_reason: 'failures' });
});

test('an agent that can not be started is a failed instant with its reason, and no run', async () => {
  const subject = await scheduled();
  await world.call(subject.token, 'PATCH', `/agents/${subject.agentId}`, { body: { is_active: false } });

  await fire(subject, 0);

  expect(await statuses(subject)).toEqual(['failed agent_inactive']);
});

test('what nobody fired is noted once; what was fired keeps its row', async () => {
  const subject = await scheduled();
  await fire(subject, 1);
  const instants = [0, 1, 2].map((at) => ({
    kind: 'regular' as const,
    nominalAt: hour(at),
    localTime: hour(at).toISOString(),
    shiftedFrom: null,
    isSkipped: false,
  }));

  for (let pass = 0; pass < 2; pass++)
    await within(world.api.db, subject.place, async (tx) => {
      const schedule = await lockSchedule(tx, subject.id);
      if (schedule) await recordMissed(tx, schedule, instants, new Date());
    });

  expect(await statuses(subject)).toEqual(['missed never_fired', 'started', 'missed never_fired']);
});

test('a place that is stopped pauses its schedules and no others; one that works again goes on from now', async () => {
  const [subject, other] = [await scheduled(), await scheduled()];
  const byHand = await makeSchedule(world.api.db, subject.place, { agentId: subject.agentId, everySeconds: 60, isActive: false });

  await within(world.api.db, subject.place, (tx) => pauseSchedulesOfPlace(tx, 'workspace_archived'));
  expect(await scheduleRow(world.api.db, subject.id)).toMatchObject({ is_active: false, pause_reason: 'workspace_archived', version: 2 });
  expect(await scheduleRow(world.api.db, other.id)).toMatchObject({ is_active: true });
  await within(world.api.db, subject.place, (tx) => resumeSchedulesOfPlace(tx, ['workspace_archived']));

  expect(await scheduleRow(world.api.db, subject.id)).toMatchObject({ is_active: true, pause_reason: null, version: 3 });
  expect(await scheduleRow(world.api.db, byHand)).toMatchObject({ is_active: false });
});

test('a workspace has at most 500 schedules', async () => {
  const subject = await scheduled();
  await sweep(world.api.db, (em) =>
    rows(
      em,
      `insert into schedules (id, organization_id, workspace_id, agent_id, name, description, every_seconds, dst, prompt_template, compiled, evaluated_until)
       select gen_random_uuid(), organization_id, workspace_id, agent_id, name, description, every_seconds, dst, prompt_template, compiled, now()
         from schedules, generate_series(1, 499) where id = ?`,
      [subject.id],
    ),
  );

  await expect(makeSchedule(world.api.db, subject.place, { agentId: subject.agentId, everySeconds: 60 })).rejects.toMatchObject({
    code: 'state_conflict',
    context: { reason: 'limit_reached' },
  });
});
