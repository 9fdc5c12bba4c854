import type { Logger } from 'pino';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { writeAudit } from '../../../db/audit/audit.ts';
import type { Databases } from '../../../db/databases.ts';
import { forgetReplies } from '../../../db/http/idempotency.ts';
import { newId } from '../../../db/ids.ts';
import type { Outgoing, TenantTransaction } from '../../../db/tenant-transaction.ts';
import { organizationTenant, sweep, systemActor, transact } from '../../../db/transaction.ts';
import { lockConversationsOfRuns } from '../../../db/runs/start/conversations.ts';
import { settleLostCallsOf } from '../steps/lost-calls.ts';
import { purgeRun } from './purge-run.ts';
import { lockEndedTrees } from '../../../db/runs/end/erase-rows.ts';
import { type Position, organizationsWithRetention, rootsPastRetention } from '../../../db/runs/end/past-retention.ts';

/** The most trees of runs that one transaction erases: their conversations stay locked meanwhile. */
const rootsATransaction = 20;

export interface RetentionOptions {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /**
   * Sends what leaves after the commit: the erasure of what Redis still holds of the runs. Omitted without a connection to Redis, which retains nothing longer
   * than an hour.
   */
  readonly send?: (outgoing: Outgoing) => Promise<void>;
}

/**
 * Erases runs that ended before the `run_retention_days` of their organization, with those of their sub-agents, as `DELETE /runs/{id}` does: their costs stay
 * in the ledger, and so do calls that a lost worker has not settled. Skips a run that has a live descendant or a call that still holds part of a budget. Each
 * transaction erases some runs and writes one `purge` entry with their number, so that a process killed at any point resumes the next time. An organization
 * whose runs can't be erased does not block the others; its error is thrown at the end. Returns the number of erased runs.
 */
export async function eraseOldRuns(db: Databases, options: RetentionOptions): Promise<number> {
  const organizations = await sweep(db, organizationsWithRetention);
  const faults: unknown[] = [];
  let total = 0;
  for (const { organizationId } of organizations) {
    try {
      total += await eraseOfOrganization(db, organizationId, options);
    } catch (err) {
      options.signal.throwIfAborted();
      options.log.error({ err, organization_id: organizationId }, 'runs past their days not erased');
      faults.push(err);
    }
  }
  if (faults.length > 0) throw faults[0];
  return total;
}

async function eraseOfOrganization(db: Databases, organizationId: string, { signal, send }: RetentionOptions): Promise<number> {
  const tenant = organizationTenant(organizationId);
  const eraseNext = async (after: Position | null): Promise<Erased> => {
    const options = { tenant, actor: systemActor, correlationId: newId() };
    const { value, outgoing } = await transact(db, options, (tx) => eraseSome(tx, organizationId, after));
    await send?.(outgoing);
    return value;
  };

  let total = 0;
  for (let done = await eraseNext(null); done.last !== null; done = await eraseNext(done.last)) {
    total += done.erased;
    signal.throwIfAborted();
  }
  return total;
}

interface Erased {
  readonly erased: number;
  /** Null: nothing follows. */
  readonly last: Position | null;
}

async function eraseSome(tx: TenantTransaction, organizationId: string, after: Position | null): Promise<Erased> {
  const due = await rootsPastRetention(tx, { organizationId, after, limit: rootsATransaction });
  if (due.length === 0) return { erased: 0, last: null };
  const roots = due.map(({ id }) => id);
  // Locks all conversations at once and in the common order; otherwise two transactions that lock several would deadlock. Settles calls of lost workers before
  // erasing the first run: from then on budget windows and rollups are locked, and this transaction waits for no run.
  await lockConversationsOfRuns(tx, roots);
  await settleLostCallsOf(tx, await lockEndedTrees(tx, roots));
  let erased = 0;
  for (const { id } of due) erased += await purgeUnlessBusy(tx, id);

  if (erased > 0) {
    await forgetReplies(tx, tx.outgoing.erasedRunIds);
    const note = { resourceType: 'run', resourceId: null, organizationId, changes: { purged_runs: { to: erased } } };
    await writeAudit(tx, { action: 'purge', operationId: null, note, ip: null, userAgent: null });
  }
  return { erased, last: due.at(-1) ?? null };
}

/** Erases a run unless it was erased or came back to life after it was found. */
async function purgeUnlessBusy(tx: TenantTransaction, runId: string): Promise<number> {
  try {
    return await purgeRun(tx, runId);
  } catch (error) {
    if (error instanceof Failure && (error.code === 'not_found' || error.code === 'state_conflict')) return 0;
    throw error;
  }
}
