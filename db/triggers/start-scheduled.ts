import { fail, Failure } from '../../workflows/contracts/failure.ts';
import { placeRuns } from '../runs/start/place-runs.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ScheduleRow } from './schedules.ts';

/** The templates of a schedule, filled for one instant. */
export interface RenderedStart {
  readonly prompt: string;
  readonly input: Record<string, unknown> | null;
  readonly sessionKey: string | null;
  readonly personaSlug: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

/** What a start came to: a run, or why there is none. `isPersonaUnknown`: the run has the agent's default instead. */
export type ScheduledStart = { readonly runId: string; readonly isPersonaUnknown: boolean } | { readonly failure: Failure };

interface ScheduledRun {
  readonly rendered: RenderedStart;
  readonly currency: string;
}

/**
 * Starts the run of one instant in the schedule's workspace; an unknown persona falls back to the default. A start that is refused gives its failure and has written
 * nothing that counts. Throws what may be tried again.
 */
export async function startScheduled(tx: TenantTransaction, schedule: ScheduleRow, run: ScheduledRun): Promise<ScheduledStart> {
  const { subject, personaSlug } = run.rendered;
  const place = { organizationId: schedule.organization_id, workspaceId: schedule.workspace_id };
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

/** The id of the run, or why there is none. It waits for its turn, so it takes nobody's place and ends nothing. */
async function placeRun(
  tx: TenantTransaction,
  schedule: ScheduleRow,
  { rendered, currency, personaSlug }: ScheduledRun & { readonly personaSlug: string | null },
): Promise<string | Failure> {
  const {
    outcomes: [outcome],
  } = await placeRuns(tx, [
    {
      workspaceId: schedule.workspace_id,
      defaultWorkspaceId: null,
      agent: { id: schedule.agent_id },
      revisionId: null,
      input: { text: rendered.prompt, ...(rendered.input === null ? {} : { json: rendered.input }) },
      sessionKey: rendered.sessionKey,
      personaSlug,
      subject: rendered.subject,
      source: 'schedule',
      triggerId: schedule.id,
      createdBy: {
        kind: schedule.created_by_user_id === null ? 'system' : 'user',
        id: schedule.created_by_user_id,
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

/** Whether somebody may work in a trigger's workspace today: not who was deactivated, nor who has moved away. */
export async function isActiveUserOf(
  tx: TenantTransaction,
  { organizationId, workspaceId }: { readonly organizationId: string; readonly workspaceId: string },
  id: string,
): Promise<boolean> {
  const found = await row(
    tx.em,
    `select u.id from users u where u.id::text = lower(?) and u.organization_id = ? and u.is_active and u.deleted_at is null
       and (u.scope = 'organization' or u.workspace_id = ?::uuid
         or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = ?::uuid))`,
    [id, organizationId, workspaceId, workspaceId],
  );
  return found !== null;
}
