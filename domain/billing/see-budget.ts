import { findBudget, findBudgetStatus, type BudgetKey, type BudgetRow, type BudgetStatusRow } from '../../db/billing/budgets.ts';
import type { Scoped } from '../../db/scope.ts';
import { fail } from '../../workflows/contracts/failure.ts';

/** A budget that the caller sees. Throws 404 where the workspace has none for the period, or is not seen. */
export async function seeBudget(ctx: Scoped, key: BudgetKey): Promise<BudgetRow> {
  return (await findBudget(ctx, key)) ?? refuseMissing(key);
}

/** Where a budget that the caller sees stands now. Throws 404 as `seeBudget` does. */
export async function seeBudgetStatus(ctx: Scoped, key: BudgetKey): Promise<BudgetStatusRow> {
  return (await findBudgetStatus(ctx, key)) ?? refuseMissing(key);
}

/** Who leaves the period out asks for the month, also where only the day has a budget. */
function refuseMissing({ period }: BudgetKey): never {
  const other = period === 'month' ? 'day' : 'month';
  throw fail('not_found', { detail: `No budget of the ${period} was found; that of the ${other} is read with period=${other}.` });
}
