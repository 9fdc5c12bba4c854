import { fail, Failure } from '../../../workflows/contracts/failure.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { followRunEnd } from '../../run-ended.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { cancelLocked, lockForCancel, type Cancel, type LockedForCancel } from './cancel-locked.ts';
import { readRunRow } from '../../../db/runs/read/run-queries.ts';
import { toRunView, type RunRow } from '../../../db/runs/read/run-view.ts';

export interface CancelRun extends Cancel {
  readonly runId: string;
}

/**
 * Asks a live run to end, and its descendants with it. A queued run ends here and the queue advances; a running or waiting one becomes `cancelling`, and its
 * workflow and activities are notified after the commit. A repeat changes nothing. Throws 404, and 409 `run_finished` with the run for a terminal one.
 */
export async function cancelRun(tx: TenantTransaction, { runId, ...cancel }: CancelRun): Promise<RunRow> {
  const locked = await lockForCancel(tx, [runId]);
  const run = locked.runs.find(({ id }) => id === runId);
  if (!run) throw fail('not_found');
  if (isTerminal(run.status)) {
    const ended = await readRunRow(tx, run.id);
    throw fail('state_conflict', { reason: 'run_finished', detail: 'The run has ended.', context: { run: ended && toRunView(ended) } });
  }

  await cancelAndClose(tx, { ...locked, runIds: [runId] }, cancel);
  const row = await readRunRow(tx, run.id);
  if (!row) throw fail('not_found');
  return row;
}

/** `cancelLocked`, followed by what depends on the end of the runs that ended with it (`followRunEnd`). */
export async function cancelAndClose(
  tx: TenantTransaction,
  locked: LockedForCancel & { readonly runIds: readonly string[] },
  cancel: Cancel,
): Promise<void> {
  for (const run of await cancelLocked(tx, locked, cancel)) await followRunEnd(tx, run, 'cancelled');
}

/** Cancels the runs of an agent that is deleted, in the order given. A run may end by itself between being found and being locked. */
export async function cancelRunsOfDeletedAgent(tx: TenantTransaction, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) {
    try {
      await cancelRun(tx, { runId, policy: 'interrupt', reason: 'agent_deleted' });
    } catch (error) {
      if (!(error instanceof Failure) || error.context['reason'] !== 'run_finished') throw error;
    }
  }
}
