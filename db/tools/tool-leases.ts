import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Who wants an exclusive tool, and where. */
export interface LeaseKey {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly toolId: string;
  /** Id of the call, or of the test. */
  readonly holder: string;
}

/** When a lease was taken, to the microsecond: another try of its holder's call that took it since has another. */
export type TakenAt = string;

/** A lease as it was taken. */
export interface HeldLeaseKey extends LeaseKey {
  readonly takenAt: TakenAt;
}

/** Takes the tool's lease in its workspace for so many seconds, unless another holder's still runs. Null: it is another's. */
export async function takeLeaseRow(
  tx: TenantTransaction,
  { organizationId, workspaceId, toolId, holder }: LeaseKey,
  seconds: number,
): Promise<TakenAt | null> {
  const taken = await row<{ taken_at: TakenAt }>(
    tx.em,
    `insert into tool_leases as l (workspace_id, tool_id, organization_id, call_id, expires_at, created_at)
     values (?, ?, ?, ?, clock_timestamp() + make_interval(secs => ?), clock_timestamp())
     on conflict (workspace_id, tool_id) do update set call_id = excluded.call_id, expires_at = excluded.expires_at, created_at = excluded.created_at
       where l.call_id = excluded.call_id or l.expires_at < clock_timestamp() returning l.created_at::text as taken_at`,
    [workspaceId, toolId, organizationId, holder, seconds],
  );
  return taken?.taken_at ?? null;
}

/** Prolongs a lease to so many seconds from now. False: it has lapsed, or was taken again, and may be another's. */
export async function renewLeaseRow(
  tx: TenantTransaction,
  { workspaceId, toolId, holder, takenAt }: HeldLeaseKey,
  seconds: number,
): Promise<boolean> {
  const renewed = await change(
    tx.em,
    `update tool_leases set expires_at = clock_timestamp() + make_interval(secs => ?)
      where workspace_id = ? and tool_id = ? and call_id = ? and created_at = ?::timestamptz and expires_at > clock_timestamp()`,
    [seconds, workspaceId, toolId, holder, takenAt],
  );
  return renewed === 1;
}

/** Gives a lease free, if it is still the one that was taken then. */
export async function dropLeaseRow(tx: TenantTransaction, { workspaceId, toolId, holder, takenAt }: HeldLeaseKey): Promise<void> {
  const own = 'workspace_id = ? and tool_id = ? and call_id = ? and created_at = ?::timestamptz';
  await change(tx.em, `delete from tool_leases where ${own}`, [workspaceId, toolId, holder, takenAt]);
}
