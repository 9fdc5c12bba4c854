import type { OutboxRow } from '../db/outbox-sending.ts';

/** This process wakes the same workflow again after this time at the earliest. */
const windowMs = 500;

/**
 * Wakes workflows (`isWakeUp`): the first row for a workflow is sent at once; rows that follow within half a second are sent as one call after it. The caller
 * does not wait for that call; if the process dies before, the relays have the rows.
 */
export function createWakeUps(send: (row: OutboxRow) => Promise<unknown>): (row: OutboxRow) => Promise<void> {
  /** The newest row of each workflow that was woken just now; null when none has come since. */
  const waiting = new Map<string, OutboxRow | null>();

  return async function wake(row) {
    const { workflowId } = row.message;
    if (waiting.has(workflowId)) {
      waiting.set(workflowId, row);
      return;
    }
    waiting.set(workflowId, null);
    setTimeout(() => {
      const next = waiting.get(workflowId);
      waiting.delete(workflowId);
      if (next) void wake(next);
    }, windowMs).unref();
    await send(row);
  };
}
