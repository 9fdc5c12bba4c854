import { fail, Failure } from '../../workflows/contracts/failure.ts';
import { enqueueRuns } from '../runs/start/place-runs.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ScheduleRow } from '../../db/triggers/schedules.ts';
import type { Outcome } from '../../db/triggers/occurrences.ts';
import type { RenderedStart } from '../../db/triggers/schedule-occurrence.entity.ts';
import { isActiveUserOf } from '../../db/triggers/active-users.ts';

/** The outcome of a start: a run, or why there is none. `isPersonaUnknown`: the run has the agent's default persona instead. */
export type ScheduledStart = { readonly runId: string; readonly isPersonaUnknown: boolean } | { readonly failure: Failure };

interface ScheduledRun {
  readonly rendered: RenderedStart;
  readonly currency: string;
}

/**
 * Starts the run of one instant in the schedule's workspace; an unknown persona falls back to the default. A refused start returns its failure and has written
 * nothing that counts. Throws retryable failures.
 */
export async function startScheduled(tx: TenantTransaction, schedule: ScheduleRow, run: ScheduledRun): Promise<ScheduledStart> {
  const { subject, personaSlug } = run.rendered;
  const place = { organizationId: schedule.organizationId, workspaceId: schedule.workspaceId };
  if (subject?.kind === 'user' && !(await isActiveUserOf(tx, place, subject.id)))
    return {
      failure: fail('state_conflict', {
        reason: 'subject_unknown',
        detail: 'The user for whom the run would work is not active in the workspace.',
      }),
    };
  const started = await placeRun(tx, schedule, { ...run, personaSlug });
  if (!isUnknownPersona(started)) return started instanceof Failure ? { failure: started } : { runId: started, isPersonaUnknown: false };
  const withDefault = await placeRun(tx, schedule, { ...run, personaSlug: null });
  return withDefault instanceof Failure ? { failure: withDefault } : { runId: withDefault, isPersonaUnknown: true };
}

/** Returns the id of the run, or why there is none. The run is enqueued, so it replaces no other run and ends nothing. */
async function placeRun(
  tx: TenantTransaction,
  schedule: ScheduleRow,
  { rendered, currency, personaSlug }: ScheduledRun & { readonly personaSlug: string | null },
): Promise<string | Failure> {
  const {
    outcomes: [outcome],
  } = await enqueueRuns(tx, [
    {
      workspaceId: schedule.workspaceId,
      defaultWorkspaceId: null,
      agent: { id: schedule.agentId },
      revisionId: null,
      input: { text: rendered.prompt, ...(rendered.input === null ? {} : { json: rendered.input }) },
      sessionKey: rendered.sessionKey,
      personaSlug,
      subject: rendered.subject,
      source: 'schedule',
      triggerId: schedule.id,
      createdBy: {
        kind: schedule.createdByUserId === null ? 'system' : 'user',
        id: schedule.createdByUserId,
        actingUserId: null,
      },
      onBusy: 'enqueue',
      limits: {},
      metadata: {},
      currency,
    },
  ]);
  if (outcome === undefined) throw new Error('a start gave nothing');
  if (!(outcome instanceof Failure)) return outcome.run.id;
  if (outcome.retryable) throw outcome;
  return outcome;
}

function isUnknownPersona(outcome: string | Failure): boolean {
  return outcome instanceof Failure && outcome.errors.some(({ pointer }) => pointer === '/persona_slug');
}

/** Starts the run of an instant whose templates are filled, or returns the reason why they could not be filled. */
export async function startOutcome(
  tx: TenantTransaction,
  schedule: ScheduleRow,
  start: { readonly rendered: RenderedStart | null; readonly renderFault: string | null; readonly currency: string },
): Promise<Outcome> {
  const { rendered, renderFault, currency } = start;
  if (rendered === null) return { status: 'failed', reason: renderFault ?? 'template' };
  const started = await startScheduled(tx, schedule, { rendered, currency });
  if ('failure' in started) return { status: 'failed', reason: reasonOf(started.failure), failure: started.failure };
  return { status: 'started', runId: started.runId, ...(started.isPersonaUnknown ? { reason: 'persona_unknown' } : {}) };
}

function reasonOf(error: Failure): string {
  const reason: unknown = error.context['reason'];
  return typeof reason === 'string' ? reason : error.code;
}
