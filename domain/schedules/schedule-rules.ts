import { refuseRank } from '../../db/reach.ts';
import type { Scoped } from '../../db/scope.ts';
import type { Overlap } from '../../db/triggers/schedule.entity.ts';
import type { SubjectTemplate } from '../../db/triggers/schedules.ts';
import type { DstRules } from '../../ports/schedule/cadence.ts';
import { planSchedule, ScheduleProblem, type SchedulePlan } from '../../ports/schedule/plan.ts';
import type { Templates } from '../../ports/templates/templates.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { refuseInputTemplate, refuseTemplates } from '../webhooks/endpoint-rules.ts';

/** When a schedule strikes, as people set it. */
export interface TimeFields {
  readonly cron: string | null;
  readonly everySeconds: number | null;
  readonly runAt: Date | null;
  readonly timezone: string;
  readonly dst: DstRules;
  readonly startsAt: Date | null;
  readonly endsAt: Date | null;
}

/** What people set of a schedule. */
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

/** Reasons for which the platform pauses, and by which it knows what goes on again. */
const ownReasons: ReadonlySet<string> = new Set([
  'failures',
  'agent_deleted',
  'workspace_archived',
  'organization_suspended',
  'organization_deleting',
]);

/** Times as a plan. Throws 422 at what is wrong with them, of a cron expression with the position. */
export function planOf(times: TimeFields, { createdAt, now }: { readonly createdAt: Date; readonly now: Date }): SchedulePlan {
  const { cron, everySeconds, runAt, timezone, dst, startsAt, endsAt } = times;
  try {
    return planSchedule(
      { cron, every_seconds: everySeconds, run_at: runAt, timezone, dst, starts_at: startsAt, ends_at: endsAt, created_at: createdAt },
      now,
    );
  } catch (error) {
    if (!(error instanceof ScheduleProblem)) throw error;
    throw invalid(`/${error.field}`, error.rule, error.message, error.params);
  }
}

/** 422 for templates that can't be read, and for a reason of a pause where there is none or that is the platform's own. */
export async function refuseFields(templates: Pick<Templates, 'firstFault'>, fields: ScheduleFields): Promise<void> {
  const { inputTemplate, isActive, pauseReason } = fields;
  refuseInputTemplate(inputTemplate);
  await refuseTemplates(templates, { ...fields, coalescing: null });
  if (isActive && pauseReason !== null) throw invalid('/pause_reason', 'excluded', 'is only allowed for a paused schedule');
}

/** 422 for a reason that people can't give: by it the platform knows what it has paused itself. */
export function refuseReason(pauseReason: string | null): void {
  if (pauseReason !== null && ownReasons.has(pauseReason))
    throw invalid('/pause_reason', 'reserved', 'is a reason that only the platform sets');
}

/**
 * 403 for a caller below admin who would have runs work for another user, as `POST /runs` refuses it: whoever sets what such runs are asked works with that user's
 * rights.
 */
export function refuseOthersSubject(ctx: Scoped, workspaceId: string, subject: SubjectTemplate | null): void {
  if (subject?.kind !== 'user') return;
  const isOwn = ctx.caller.userId !== null && subject.id.trim().toLowerCase() === ctx.caller.userId;
  if (!isOwn) refuseRank(ctx.caller, workspaceId, 'admin');
}
