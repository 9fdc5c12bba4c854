import type { KeyRing } from '../../db/key-ring.ts';
import {
  clearGrant,
  dropLeaseOfRefresh,
  storeGrant,
  takeLeaseOfRefresh,
  type FreshGrant,
  type McpConnectionAt,
} from '../../db/mcp/connections.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

const leaseSeconds = 15;
const maxErrorChars = 500;

/** Takes the lease of a refresh for 15 s; returns false while another process holds it, or when the row has changed. */
export function takeRefreshLease(tx: TenantTransaction, at: McpConnectionAt): Promise<boolean> {
  return takeLeaseOfRefresh(tx, at, leaseSeconds);
}

/** Releases the lease of a refresh whose outcome is unknown. */
export function dropRefreshLease(tx: TenantTransaction, at: McpConnectionAt): Promise<void> {
  return dropLeaseOfRefresh(tx, at);
}

/** Stores the result of a refresh, unless the row has been written meanwhile. */
export function storeRefreshed(tx: TenantTransaction, keys: Pick<KeyRing, 'keks'>, at: McpConnectionAt & FreshGrant): Promise<boolean> {
  return storeGrant(tx, keys, at);
}

/** Clears a grant that the server no longer accepts, only while the row still holds the one that was sent. A grant that no server accepts is not stored. */
export function refuseGrant(tx: TenantTransaction, at: McpConnectionAt, error: string): Promise<void> {
  return clearGrant(tx, at, error.slice(0, maxErrorChars));
}
