import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { dropLeaseRow, renewLeaseRow, takeLeaseRow, type HeldLeaseKey, type LeaseKey, type TakenAt } from '../../db/tools/tool-leases.ts';

/** A lease that nobody renews lapses after this. */
const leaseSeconds = 30;

/** Takes an exclusive tool in its workspace for 30 s, unless another holder's lease still runs. Null: it is another's. */
export function takeLease(tx: TenantTransaction, key: LeaseKey): Promise<TakenAt | null> {
  return takeLeaseRow(tx, key, leaseSeconds);
}

/** Prolongs a lease to 30 s from now. False: it has lapsed, or was taken again, and may be another's. */
export function renewLease(tx: TenantTransaction, held: HeldLeaseKey): Promise<boolean> {
  return renewLeaseRow(tx, held, leaseSeconds);
}

/** Gives a lease free; one that is another's by now stays. */
export function dropLease(tx: TenantTransaction, held: HeldLeaseKey): Promise<void> {
  return dropLeaseRow(tx, held);
}
