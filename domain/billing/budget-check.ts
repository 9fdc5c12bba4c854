import { readBudgetStanding } from '../../db/billing/budgets/budget-standing.ts';
import { spendingRefusal } from '../runs/start/start-refusals.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Checks that work which will spend in a workspace may begin: one query. Throws the failure that `spendingRefusal` returns. */
export async function checkBudgets(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<void> {
  const refusal = spendingRefusal(await readBudgetStanding(tx, workspaceId));
  if (refusal) throw refusal;
}
