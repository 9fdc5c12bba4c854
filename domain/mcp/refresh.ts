import type { KeyRing } from '../../db/identity/keys/key-ring.ts';
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

/** Takes the right to refresh for 15 s; false while another holds it, or when the row has moved on. */
export function takeRefreshLease(tx: TenantTransaction, at: McpConnectionAt): Promise<boolean> {
  return takeLeaseOfRefresh(tx, at, leaseSeconds);
}

/** Gives the right to refresh back: what came of it is not known. */
export function dropRefreshLease(tx: TenantTransaction, at: McpConnectionAt): Promise<void> {
  return dropLeaseOfRefresh(tx, at);
}

/** Keeps what a refresh gave, unless somebody has written the row meanwhile. */
export function storeRefreshed(tx: TenantTransaction, keys: Pick<KeyRing, 'keks'>, at: McpConnectionAt & FreshGrant): Promise<boolean> {
  return storeGrant(tx, keys, at);
}

/** The server takes the grant no more: only while the row still holds what was sent. A grant that nobody takes is not kept. */
export function refuseGrant(tx: TenantTransaction, at: McpConnectionAt, error: string): Promise<void> {
  return clearGrant(tx, at, error.slice(0, maxErrorChars));
}
