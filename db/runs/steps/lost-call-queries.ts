import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { StepOfCall } from '../calls/call-in-flight.ts';

/** A try of a step whose worker was lost. */
export type LostCall = StepOfCall & { readonly attempt: number };

/** A lost call with the tenant of its row. */
export type LostCallOfTenant = LostCall & { readonly organizationId: string; readonly workspaceId: string };

/** How long after the end of its run a call may still settle itself: its worker learns of the end with its next heartbeat. */
const graceSeconds = 60;

/** Returns all calls of an organization that are still in flight. Sweeper's pool. */
export function lostCallsOfOrganization(tx: Pick<TenantTransaction, 'em'>, organizationId: string): Promise<LostCall[]> {
  return rows(
    tx.em,
    `select run_id as "runId", step, (in_flight ->> 'attempt')::int as attempt from run_steps
      where in_flight is not null and organization_id = ? order by run_id, step`,
    [organizationId],
  );
}

/**
 * Returns calls that are still in flight although their run ended a while ago: their workers were lost and no try follows. Ordered by run and step, after
 * `after` (null: from the start), so that calls that cannot be settled don't keep the others from being read.
 */
export function lostCallsOfEndedRuns(
  tx: Pick<TenantTransaction, 'em'>,
  { after, limit }: { readonly after: StepOfCall | null; readonly limit: number },
): Promise<LostCallOfTenant[]> {
  return rows(
    tx.em,
    `select s.run_id as "runId", s.step, (s.in_flight ->> 'attempt')::int as attempt, s.organization_id as "organizationId", s.workspace_id as "workspaceId"
       from run_steps s join runs r on r.id = s.run_id
      where s.in_flight is not null and r.finished_at < clock_timestamp() - interval '${graceSeconds} seconds'
        and (?::uuid is null or (s.run_id, s.step) > (?::uuid, ?::int)) order by s.run_id, s.step limit ?`,
    [after?.runId ?? null, after?.runId ?? null, after?.step ?? null, limit],
  );
}

/** Returns the calls that runs have in flight. */
export function callsInFlightOf(
  tx: TenantTransaction,
  runIds: readonly string[],
): Promise<(LostCall & { readonly workspaceId: string })[]> {
  return rows<LostCall & { readonly workspaceId: string }>(
    tx.em,
    `select run_id as "runId", step, (in_flight ->> 'attempt')::int as attempt, workspace_id as "workspaceId" from run_steps
      where run_id = any (?::uuid[]) and in_flight is not null order by run_id, step`,
    [[...runIds]],
  );
}
