import { refuseRank } from '../../db/caller-scope.ts';
import type { Scoped } from '../../db/scope.ts';
import type { Overlap, SubjectTemplate } from '../../db/triggers/schedule.entity.ts';
import type { DstRules } from '../../ports/schedule/cadence.ts';
import { planSchedule, ScheduleProblem, type SchedulePlan } from '../../ports/schedule/plan.ts';
import type { Templates } from '../../ports/templates/templates.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { refuseInputTemplate, refuseTemplates } from '../webhooks/endpoint-rules.ts';

/** The times of a schedule, as a caller sets them. */
export interface TimeFields {
  readonly cron: string | null;
  readonly everySeconds: number | null;
  readonly runAt: Date | null;
  readonly timezone: string;
  readonly dst: DstRules;
  readonly startsAt: Date | null;
  readonly endsAt: Date | null;
}

/** The fields of a schedule that a caller sets. */
export interface ScheduleFields extends TimeFields {
  readonly name: string;
  readonly promptTemplate: string;
  readonly inputTemplate: Record<string, unknown> | null;
  readonly sessionKeyTemplate: string | null;
  readonly personaSlugTemplate: string | null;
  readonly subjectTemplate: SubjectTemplate | null;
  readonly overlap: Overlap;
  readonly catchUpSeconds: number;
  readonly jitterSeconds: number;
  readonly pauseAfterFailures: number;
  readonly isActive: boolean;
  readonly pauseReason: string | null;
}

/** Reasons for which the platform pauses, and by which it knows what to resume. */
const ownReasons: ReadonlySet<string> = new Set([
  'failures',
  'agent_deleted',
  'workspace_archived',
  'organization_suspended',
  'organization_deleting',
]);

/** Compiles times into a plan. Throws 422 at the faulty field, for a cron expression with the position. */
export function planOf(times: TimeFields, { createdAt, now }: { readonly createdAt: Date; readonly now: Date }): SchedulePlan {
  const { cron, everySeconds, runAt, timezone, dst, startsAt, endsAt } = times;
  try {
    return planSchedule({ cron, everySeconds, runAt, timezone, dst, startsAt, endsAt, createdAt }, now);
  } catch (error) {
    if (!(error instanceof ScheduleProblem)) throw error;
    throw invalid(`/${error.field}`, error.rule, error.message, error.params);
  }
}

/** Throws 422 for templates that can't be parsed, and for a pause reason of an active schedule. */
export async function refuseFields(templates: Pick<Templates, 'firstFault'>, fields: ScheduleFields): Promise<void> {
  const { inputTemplate, isActive, pauseReason } = fields;
  refuseInputTemplate(inputTemplate);
  await refuseTemplates(templates, { ...fields, coalescing: null });
  if (isActive && pauseReason !== null) throw invalid('/pause_reason', 'excluded', 'is only allowed for a paused schedule');
}

/** Throws 422 for a reason that callers can't give, since the platform recognises by it what it has paused itself. */
export function refuseReason(pauseReason: string | null): void {
  if (pauseReason !== null && ownReasons.has(pauseReason))
    throw invalid('/pause_reason', 'reserved', 'is a reason that only the platform sets');
}

/**
 * Throws 403 for a caller below admin who would have runs work for another user, as `POST /runs` does: the author of such a run's input works with that user's
 * rights.
 */
export function refuseOthersSubject(ctx: Scoped, workspaceId: string, subject: SubjectTemplate | null): void {
  if (subject?.kind !== 'user') return;
  const isOwn = ctx.caller.userId !== null && subject.id.trim().toLowerCase() === ctx.caller.userId;
  if (!isOwn) refuseRank(ctx.caller, workspaceId, 'admin');
}
