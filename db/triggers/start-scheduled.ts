import { Failure } from '../../workflows/contracts/failure.ts';
import { placeRuns } from '../runs/place-runs.ts';
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

/** What a start came to: a run, or why there is none. */
export type ScheduledStart = { readonly runId: string } | { readonly reason: string };

/** Starts the run of one instant in the schedule's workspace. A start that is refused is told by its reason and writes nothing that counts. */
export async function startScheduled(
  tx: TenantTransaction,
  schedule: ScheduleRow,
  { rendered, currency }: { readonly rendered: RenderedStart; readonly currency: string },
): Promise<ScheduledStart> {
  if (
    rendered.subject?.kind === 'user' &&
    !(await isActiveUserOf(tx, { organizationId: schedule.organization_id, workspaceId: schedule.workspace_id }, rendered.subject.id))
  )
    return { reason: 'subject_unknown' };
  // It waits for its turn, so it takes nobody's place and ends nothing.
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
      personaSlug: rendered.personaSlug,
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
  if (!(outcome instanceof Failure)) return { runId: outcome.run.id };
  if (outcome.retryable) throw outcome;
  return { reason: reasonOf(outcome) };
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

function reasonOf(error: Failure): string {
  const reason: unknown = error.context?.['reason'];
  return typeof reason === 'string' ? reason : error.code;
}
