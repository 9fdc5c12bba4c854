import { endItemOf } from '../evaluations/run-ended.ts';
import type { RunState } from '../runs/run-state.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { openCallbackOf } from '../webhooks/callbacks.ts';
import { closeOccurrenceOf } from './close-occurrence.ts';

/**
 * Does what hangs on the end of a run, in the transaction that ends it: closes the occurrence of its schedule, writes the callback of its hook, or ends the item of
 * its evaluation. Nothing for a run that none of them has started, at no cost.
 */
export async function followRunEnd(tx: TenantTransaction, run: RunState, status: 'succeeded' | 'failed' | 'cancelled'): Promise<void> {
  await closeOccurrenceOf(tx, run, status);
  await openCallbackOf(tx, run);
  await endItemOf(tx, run);
}
