import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { queueStatement, row } from '../../sql.ts';

// What a window has spent is the sum of the ledger's rows that were reserved in it. Whoever opens or cuts a window reads that sum, and must not do so while
// a row has been written whose cost has not been added to the windows yet. So each settling shares this lock, and a cut has it alone. It is taken before
// budgets and windows are locked, and after runs.
const key = "hashtextextended('ledger:' || ?::text, 0)";

/** Keeps the windows of a workspace as they are until this transaction ends. To be called before a ledger row is written; it goes with that statement. */
export async function shareLedger(em: SqlEntityManager, workspaceId: string): Promise<void> {
  await queueStatement(em, `select pg_advisory_xact_lock_shared(${key})`, [workspaceId]);
}

/** Waits until no settling of the workspace is at work, and holds the next ones up until this transaction ends. */
export async function lockLedger(em: SqlEntityManager, workspaceId: string): Promise<void> {
  await row(em, `select pg_advisory_xact_lock(${key})`, [workspaceId]);
}
