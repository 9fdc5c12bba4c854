import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { dropLeaseRow, renewLeaseRow, takeLeaseRow, type HeldLeaseKey, type LeaseKey, type TakenAt } from '../../db/tools/tool-leases.ts';

/** A lease that is not renewed lapses after this time. */
const leaseSeconds = 30;

/** Takes an exclusive tool in its workspace for 30 s, unless another holder's lease still runs. Returns null when another holder has it. */
export function takeLease(tx: TenantTransaction, key: LeaseKey): Promise<TakenAt | null> {
  return takeLeaseRow(tx, key, leaseSeconds);
}

/** Renews a lease to 30 s from now. Returns false when it has lapsed or was taken again, and may have another holder. */
export function renewLease(tx: TenantTransaction, held: HeldLeaseKey): Promise<boolean> {
  return renewLeaseRow(tx, held, leaseSeconds);
}

/** Releases a lease; one that has another holder by now stays. */
export function dropLease(tx: TenantTransaction, held: HeldLeaseKey): Promise<void> {
  return dropLeaseRow(tx, held);
}
