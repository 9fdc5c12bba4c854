import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { countSchedules } from '../../db/triggers/schedules.ts';
import { insertSchedule, syncSchedule, type NewSchedule } from '../../db/triggers/write-schedules.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';

const maxSchedules = 500;

/**
 * Creates a schedule, which never starts a run by itself. Its Temporal schedule is set after the commit. Throws 422 `reference` for an agent that does not live
 * in the workspace or wider, 409 `limit_reached` at 500 schedules of a workspace.
 */
export async function createSchedule(tx: TenantTransaction, schedule: NewSchedule): Promise<string> {
  const { organizationId, workspaceId } = schedule;
  const { schedules, hasAgent } = await countSchedules(tx, schedule);
  if (!hasAgent) throw invalid('/agent_id', 'reference', 'The agent does not exist in this workspace.', { kind: 'agent' });
  if (schedules >= maxSchedules)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `A workspace can have at most ${maxSchedules} schedules.` });

  const id = await insertSchedule(tx, schedule);
  await syncSchedule(tx, { id, organizationId, workspaceId, version: 1 });
  return id;
}
