import type { RunStatus } from '../../workflows/contracts/runs.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A run of the transaction's tenant that has not ended; null: it has, or there is none. */
export function liveRun(tx: Pick<TenantTransaction, 'em'>, runId: string): Promise<{ readonly status: RunStatus } | null> {
  return row(tx.em, "select r.status from runs r where r.id = ? and r.status in ('queued', 'running', 'waiting', 'cancelling')", [runId]);
}
