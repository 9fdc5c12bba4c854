import type { OutboxRow } from '../db/outbox.ts';

/** A workflow that was woken is woken again by this process after so long at the earliest. */
const windowMs = 500;

/**
 * Wakes workflows (`isWakeUp`): the first row for one is sent at once, those that follow within half a second are sent as one call behind it. The caller does
 * not wait for that one; should the process die before, the relays have the rows.
 */
export function createWakeUps(send: (row: OutboxRow) => Promise<unknown>): (row: OutboxRow) => Promise<void> {
  /** The newest row of each workflow that was woken just now; null where none has come since. */
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
