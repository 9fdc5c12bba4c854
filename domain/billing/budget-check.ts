import { budgetStandingSql, type BudgetStanding } from '../../db/billing/budget-standing.ts';
import { spendingRefusal } from '../../db/runs/start-refusals.ts';
import { row } from '../../db/sql.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Lets work begin that will spend in a workspace: one query. Throws what `spendingRefusal` gives. */
export async function checkBudgets(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<void> {
  const found = await row<{ standing: BudgetStanding }>(
    tx.em,
    `select ${budgetStandingSql('w.id')} as standing from (select ?::uuid as id) w`,
    [workspaceId],
  );
  const refusal = found && spendingRefusal(found.standing);
  if (refusal) throw refusal;
}
