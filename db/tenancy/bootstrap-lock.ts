import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Held to the end of the transaction: of two bootstraps at once the second finds what the first has made. */
export async function lockBootstrap(tx: TenantTransaction): Promise<void> {
  await row(tx.em, "select pg_advisory_xact_lock(hashtext('longhaul:bootstrap'))");
}
