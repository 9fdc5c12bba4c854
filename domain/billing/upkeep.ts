import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { endedWindows, expireHolds } from '../../db/billing/ledger/upkeep.ts';
import { rollWindows } from '../../db/billing/budgets/windows.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';

const aTransaction = 500;

/** Releases the holds of lost calls, in transactions of 500; returns the number of holds. */
export async function expireLostHolds(db: Databases, signal: AbortSignal): Promise<number> {
  let expired = 0;
  for (let count = aTransaction; count === aTransaction; expired += count) {
    signal.throwIfAborted();
    count = await sweep(db, (em) => expireHolds(em, aTransaction));
  }
  return expired;
}

/**
 * Closes windows that have ended and opens the next, for up to 500 workspaces; a failure is reported and does not stop the others. Returns the number of
 * workspaces.
 */
export async function rollEndedWindows(
  db: Databases,
  { signal, onFault }: { readonly signal: AbortSignal; readonly onFault: (err: unknown, workspaceId: string) => void },
): Promise<number> {
  const ended = await sweep(db, (em) => endedWindows(em, aTransaction));
  for (const workspaceId of ended) {
    signal.throwIfAborted();
    await sweep(db, (em) => rollWindows(em, workspaceId)).catch((err: unknown) => onFault(err, workspaceId));
  }
  return ended.length;
}

/** Opens the current windows of a workspace, as every call does that finds none. The transaction must not have locked any window before. */
export function rollBudgetWindows(em: SqlEntityManager, workspaceId: string): Promise<number> {
  return rollWindows(em, workspaceId);
}
