import { row } from '../sql.ts';
import type { Unit } from '../unit.ts';

/** Held to the end of the transaction: of two bootstraps at once the second finds what the first has made. */
export async function lockBootstrap(unit: Unit): Promise<void> {
  await row(unit.em, "select pg_advisory_xact_lock(hashtext('longhaul:bootstrap'))");
}
