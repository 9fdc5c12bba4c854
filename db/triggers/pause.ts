import { databaseTime } from '../database-time.ts';
import { tenantPredicate } from '../scope.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { emitPaused } from './occurrences.ts';
import { syncSchedule, type ScheduleRow } from './schedules.ts';

type Paused = Pick<ScheduleRow, 'id' | 'organization_id' | 'workspace_id' | 'version'>;

const returned = 'id, organization_id, workspace_id, version';

/** Pauses the schedules of an agent that is gone, with the reason. */
export async function pauseSchedulesOfAgent(tx: TenantTransaction, agentId: string): Promise<void> {
  const paused = await rows<Paused>(
    tx.em,
    `update schedules set is_active = false, pause_reason = 'agent_deleted', sync_state = 'pending', version = version + 1, updated_at = now()
      where agent_id = ? and is_active and deleted_at is null returning ${returned}`,
    [agentId],
  );
  const now = paused.length === 0 ? null : await databaseTime(tx.em);
  for (const schedule of paused) {
    await syncSchedule(tx, schedule);
    if (now !== null) await emitPaused(tx, schedule, now);
  }
}

/** Pauses the schedules of a transaction's place that is stopped. */
export async function pauseSchedulesOfPlace(tx: TenantTransaction, reason: string): Promise<void> {
  const own = tenantPredicate(tx.tenant, 's');
  const paused = await rows<Paused>(
    tx.em,
    `update schedules s set is_active = false, pause_reason = ?, sync_state = 'pending', version = version + 1, updated_at = now()
      where is_active and deleted_at is null and ${own.sql} returning ${returned}`,
    [reason, ...own.params],
  );
  for (const schedule of paused) await syncSchedule(tx, schedule);
}

/** What was paused for a stop goes on where the place works again; what it missed is not made up for. */
export async function resumeSchedulesOfPlace(tx: TenantTransaction, reasons: readonly string[]): Promise<void> {
  const own = tenantPredicate(tx.tenant, 's');
  const resumed = await rows<Paused>(
    tx.em,
    `update schedules s set is_active = true, pause_reason = null, evaluated_until = now(), fires_after = now(), sync_state = 'pending', version = version + 1, updated_at = now()
      where not is_active and deleted_at is null and pause_reason = any (?::text[]) and ${own.sql}
        and exists (select from workspaces w join organizations o on o.id = w.organization_id where w.id = s.workspace_id and w.is_active and o.status = 'active')
      returning ${returned}`,
    [reasons, ...own.params],
  );
  for (const schedule of resumed) await syncSchedule(tx, schedule);
}
