import { tenantPredicate } from '../scope.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ScheduleRow } from './schedules.ts';

/** A schedule whose row now has another version. */
export type MovedSchedule = Pick<ScheduleRow, 'id' | 'organization_id' | 'workspace_id' | 'version'>;

const returned = 'id, organization_id, workspace_id, version';

/** Pauses the schedules of an agent that is deleted; returns them. */
export function storePauseOfAgent(tx: TenantTransaction, agentId: string): Promise<MovedSchedule[]> {
  return rows<MovedSchedule>(
    tx.em,
    `update schedules set is_active = false, pause_reason = 'agent_deleted', sync_state = 'pending', version = version + 1, updated_at = now()
      where agent_id = ? and is_active and deleted_at is null returning ${returned}`,
    [agentId],
  );
}

/** Pauses the schedules in a transaction's tenant; returns them. */
export function storePauseOfPlace(tx: TenantTransaction, reason: string): Promise<MovedSchedule[]> {
  const own = tenantPredicate(tx.tenant, 's');
  return rows<MovedSchedule>(
    tx.em,
    `update schedules s set is_active = false, pause_reason = ?, sync_state = 'pending', version = version + 1, updated_at = now()
      where is_active and deleted_at is null and ${own.sql} returning ${returned}`,
    [reason, ...own.params],
  );
}

/** Resumes, from now on, schedules that were paused for one of the reasons, where their organization and workspace are active; returns them. */
export function storeResumeOfPlace(tx: TenantTransaction, reasons: readonly string[]): Promise<MovedSchedule[]> {
  const own = tenantPredicate(tx.tenant, 's');
  return rows<MovedSchedule>(
    tx.em,
    `update schedules s set is_active = true, pause_reason = null, evaluated_until = now(), fires_after = now(), sync_state = 'pending', version = version + 1, updated_at = now()
      where not is_active and deleted_at is null and pause_reason = any (?::text[]) and ${own.sql}
        and exists (select from workspaces w join organizations o on o.id = w.organization_id where w.id = s.workspace_id and w.is_active and o.status = 'active')
      returning ${returned}`,
    [reasons, ...own.params],
  );
}
