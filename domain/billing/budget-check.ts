import { readBudgetStanding, type BudgetStanding } from '../../db/billing/budgets/budget-standing.ts';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Checks that work which will spend in a workspace may begin: one query. Throws the failure that `spendingRefusal` returns. */
export async function checkBudgets(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<void> {
  const refusal = spendingRefusal(await readBudgetStanding(tx, workspaceId));
  if (refusal) throw refusal;
}

/**
 * Returns 402 `budget_exceeded` when an enforced budget is spent, 429 `rate_limited` (`budget_reserved`) when only holds of calls in flight fill it, else null.
 */
export function spendingRefusal({ full_at: fullAt, is_held: isHeld }: BudgetStanding): Failure | null {
  if (fullAt !== null) return fail('budget_exceeded', { context: { period: fullAt }, detail: `The budget of the ${fullAt} is spent.` });
  if (!isHeld) return null;
  return fail('rate_limited', { reason: 'budget_reserved', detail: 'Calls in flight hold the rest of the budget.', retryAfterS: 5 });
}
