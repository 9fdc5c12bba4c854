import { readBudgetStanding } from '../../db/billing/budgets/budget-standing.ts';
import { spendingRefusal } from '../runs/start/start-refusals.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Lets work begin that will spend in a workspace: one query. Throws what `spendingRefusal` gives. */
export async function checkBudgets(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<void> {
  const refusal = spendingRefusal(await readBudgetStanding(tx, workspaceId));
  if (refusal) throw refusal;
}
