import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/**
 * Returns the period of the first enforced budget in the workspace that cannot cover the amount, day before month, or null when every budget can. The
 * amount is a decimal in the billing currency.
 */
export async function periodWithoutRoom(tx: Pick<TenantTransaction, 'em'>, workspaceId: string, amount: string): Promise<string | null> {
  const found = await row<{ period: string }>(
    tx.em,
    `select g.period from budgets g
       left join budget_windows b on b.budget_id = g.id and b.closed_at is null and b.window_end > clock_timestamp()
      where g.workspace_id = ? and g.is_enforced and g.limit_amount is not null
        and coalesce(b.spent, 0) + ceil(?::numeric * coalesce(b.fx_rate, 1) * 1e9) / 1e9 > g.limit_amount
      order by g.period limit 1`,
    [workspaceId, amount],
  );
  return found?.period ?? null;
}
