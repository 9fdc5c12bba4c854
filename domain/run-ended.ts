import { openReplyOf } from '../db/channels/replies.ts';
import { endItemOf } from '../db/evaluations/run-ended.ts';
import type { RunState } from '../db/runs/run-state.ts';
import type { TenantTransaction } from '../db/tenant-transaction.ts';
import { openCallbackOf } from '../db/webhooks/callbacks.ts';
import { closeOccurrenceOf } from './schedules/close-occurrence.ts';
import { emitRunEvent } from '../db/triggers/events.ts';

/**
 * Settles what depends on the end of a run, in the transaction that ends it: closes the occurrence of its schedule, writes the callback of its hook, reserves
 * the position of its answer in the thread of its channel, or ends the item of its evaluation, and writes its event.
 */
export async function followRunEnd(tx: TenantTransaction, run: RunState, status: 'succeeded' | 'failed' | 'cancelled'): Promise<void> {
  await closeOccurrenceOf(tx, run, status);
  await openCallbackOf(tx, run);
  await openReplyOf(tx, run);
  await endItemOf(tx, run);
  await emitRunEvent(tx, run, status);
}
