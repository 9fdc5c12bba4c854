import { isDeepStrictEqual } from 'node:util';
import { databaseTime } from '../../db/database-time.ts';
import { cancelBackfills } from '../../db/schedules/backfills.ts';
import type { Scoped } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { cancelBuffered, emitPaused } from '../../db/triggers/occurrences.ts';
import type { Schedule } from '../../db/triggers/schedule.entity.ts';
import { syncSchedule } from '../../db/triggers/write-schedules.ts';
import { runsInWorkspace } from '../../db/agents/agents.ts';
import { nextAfter, timetableOf } from '../../ports/schedule/plan.ts';
import type { Templates } from '../../ports/templates/templates.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { createSchedule } from '../triggers/create-schedule.ts';
import { planOf, refuseFields, refuseOthersSubject, refuseReason, type ScheduleFields, type TimeFields } from './schedule-rules.ts';

/** What the rules of schedules need from the deployment: the template renderer of the schedule's organization. */
export interface ScheduleDeps {
  readonly templates: Pick<Templates, 'firstFault'>;
}

/** The values of a new schedule. */
export interface AskedSchedule extends ScheduleFields {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly createdByUserId: string | null;
}

/**
 * Creates a schedule and returns its id, without starting a run. Throws 422 for invalid times, templates and agents, 403 for a subject that the caller's runs
 * may not work for, 409 `limit_reached` in a workspace that has 500.
 */
export async function makeSchedule(ctx: Scoped, { templates }: ScheduleDeps, asked: AskedSchedule): Promise<string> {
  const at = await databaseTime(ctx.em);
  const plan = planOf(asked, { createdAt: at, now: at });
  refuseReason(asked.pauseReason);
  await refuseFields(templates, asked);
  refuseOthersSubject(ctx, asked.workspaceId, asked.subjectTemplate);
  const { description, compiled, nextRunAt } = plan;
  return createSchedule(ctx, { ...asked, description, compiled, nextRunAt, toolCallId: null, toolId: null, at });
}

/**
 * Changes a locked schedule; an omitted field stays as it is. New times, and a resume after a pause, count from now: earlier instants are not caught up. Throws
 * as `makeSchedule` does.
 */
export async function changeSchedule(
  ctx: Scoped,
  { templates }: ScheduleDeps,
  { schedule, change }: { readonly schedule: Schedule; readonly change: Partial<ScheduleFields> },
): Promise<void> {
  const now = await databaseTime(ctx.em);
  const before = fieldsOf(schedule);
  const merged = { ...before, ...clearedCadence(change), ...change };
  const next: ScheduleFields = merged.isActive && change.pauseReason === undefined ? { ...merged, pauseReason: null } : merged;
  if (isDeepStrictEqual(next, before)) return;
  if (change.pauseReason !== undefined) refuseReason(change.pauseReason);
  await refuseFields(templates, next);
  // A caller who changes the input of runs for a user works with that user's rights, whoever named the user.
  if (!isDeepStrictEqual(textsOf(next), textsOf(before))) refuseOthersSubject(ctx, schedule.workspaceId, next.subjectTemplate);

  const isResumed = next.isActive && !before.isActive;
  if (isResumed) await refuseDeletedAgent(ctx, schedule);
  const times = isDeepStrictEqual(timesOf(next), timesOf(before)) ? null : planOf(next, { createdAt: new Date(schedule.createdAt), now });
  Object.assign(schedule, next, { syncState: 'pending' });
  if (times) Object.assign(schedule, { description: times.description, compiled: times.compiled, nextRunAt: times.nextRunAt });
  else if (isResumed) schedule.nextRunAt = nextAfter(timetableOf(schedule), now);
  if (times || isResumed) Object.assign(schedule, { evaluatedUntil: now, firesAfter: now });
  if (isResumed) schedule.failureStreak = 0;
  await ctx.em.flush();
  await syncSchedule(ctx, schedule);
  if (before.isActive && !next.isActive) await emitPaused(ctx, schedule, now);
}

/**
 * Deletes a locked schedule: it starts nothing after the commit, even before Temporal knows. Cancels what was buffered and its backfills; its runs continue.
 */
export async function deleteSchedule(tx: TenantTransaction, schedule: Schedule): Promise<void> {
  const now = await databaseTime(tx.em);
  schedule.deletedAt = now;
  await tx.em.flush();
  await syncSchedule(tx, schedule);
  await cancelBuffered(tx, schedule.id, now);
  await cancelBackfills(tx, schedule.id, now);
}

/** A new cadence replaces the old one. */
function clearedCadence(change: Partial<ScheduleFields>): Partial<TimeFields> {
  const { cron = null, everySeconds = null, runAt = null } = change;
  return cron === null && everySeconds === null && runAt === null ? {} : { cron: null, everySeconds: null, runAt: null };
}

async function refuseDeletedAgent(ctx: Scoped, { agentId, organizationId, workspaceId }: Schedule): Promise<void> {
  if (await runsInWorkspace(ctx, agentId, { organizationId, workspaceId })) return;
  throw fail('state_conflict', { reason: 'agent_deleted', detail: 'The agent of the schedule no longer exists.' });
}

function fieldsOf(schedule: Schedule): ScheduleFields {
  const { name, overlap, catchUpSeconds, jitterSeconds, pauseAfterFailures, isActive, pauseReason } = schedule;
  return {
    ...timesOf(schedule),
    ...textsOf(schedule),
    ...{ name, overlap, catchUpSeconds, jitterSeconds, pauseAfterFailures, isActive, pauseReason },
  };
}

function timesOf({ cron, everySeconds, runAt, timezone, dst, startsAt, endsAt }: TimeFields | Schedule): TimeFields {
  return { cron, everySeconds, runAt: dateOf(runAt), timezone, dst, startsAt: dateOf(startsAt), endsAt: dateOf(endsAt) };
}

type Texts = Pick<ScheduleFields, 'promptTemplate' | 'inputTemplate' | 'sessionKeyTemplate' | 'personaSlugTemplate' | 'subjectTemplate'>;

function textsOf({ promptTemplate, inputTemplate, sessionKeyTemplate, personaSlugTemplate, subjectTemplate }: Texts | Schedule): Texts {
  return { promptTemplate, inputTemplate, sessionKeyTemplate, personaSlugTemplate, subjectTemplate };
}

function dateOf(at: Date | string | null): Date | null {
  return at === null ? null : new Date(at);
}
