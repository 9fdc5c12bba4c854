import { findAnswered } from '../db/channels/replies.ts';
import { wakeReply } from '../db/channels/wake.ts';
import type { RunState } from '../db/runs/run-state.ts';
import type { TenantTransaction } from '../db/tenant-transaction.ts';

/**
 * Wakes the workflow that serves the thread of a run of a channel, in the transaction in which the run begins or waits. Does nothing for other runs, at no
 * cost.
 */
export async function followRunChange(tx: TenantTransaction, run: RunState): Promise<void> {
  if (run.source !== 'channel') return;
  const answered = await findAnswered(tx, run.id);
  if (answered) await wakeReply(tx, answered);
}
