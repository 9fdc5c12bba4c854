import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

const withoutRoom = prepared(({ workspaceId, amount }: ParametersOf<{ readonly workspaceId: string; readonly amount: string }>) =>
  query
    .selectFrom('budgets as g')
    .leftJoin('budget_windows as b', (join) =>
      join
        .onRef('b.budgetId', '=', 'g.id')
        .on('b.closedAt', 'is', null)
        .on('b.windowEnd', '>', sql<string>`clock_timestamp()`),
    )
    .where('g.workspaceId', '=', workspaceId)
    .where('g.isEnforced', '=', sql.lit(true))
    .where('g.limitAmount', 'is not', null)
    .where(sql<boolean>`coalesce(b.spent, 0) + ceil(${amount}::numeric * coalesce(b.fx_rate, 1) * 1e9) / 1e9 > g.limit_amount`)
    .select('g.period')
    .orderBy('g.period')
    .limit(1),
);

/**
 * Returns the period of the first enforced budget in the workspace that cannot cover the amount, day before month, or null when every budget can. The
 * amount is a decimal in the billing currency.
 */
export async function periodWithoutRoom(tx: Pick<TenantTransaction, 'em'>, workspaceId: string, amount: string): Promise<string | null> {
  const found = await row(tx.em, withoutRoom({ workspaceId, amount }));
  return found?.period ?? null;
}
