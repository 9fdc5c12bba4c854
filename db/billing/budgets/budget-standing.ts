import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The state of a workspace's enforced budgets: the period that is spent, and whether calls in flight hold the rest of one. */
export interface BudgetStanding {
  readonly full_at: string | null;
  readonly is_held: boolean;
  readonly is_enforced: boolean;
}

/**
 * Returns an expression for a workspace's BudgetStanding (jsonb), for a query that reads the workspace anyway. A window that has ended no longer limits
 * anything; the limit is the budget's, which is always written together with its window's.
 */
export function budgetStandingSql(workspaceId: string): string {
  return `(
    select jsonb_build_object('full_at', min(s.period) filter (where s.spent >= s.cap), 'is_held', coalesce(bool_or(s.spent + s.reserved >= s.cap), false),
             'is_enforced', count(*) > 0)
      from (select g.period, g.limit_amount as cap, coalesce(b.spent, 0) as spent, coalesce(b.reserved, 0) as reserved
              from budgets g
              left join budget_windows b on b.budget_id = g.id and b.closed_at is null and b.window_end > clock_timestamp()
             where g.workspace_id = ${workspaceId} and g.is_enforced and g.limit_amount is not null) s)`;
}

const standingOf = prepared(({ workspaceId }: ParametersOf<{ readonly workspaceId: string }>) =>
  query
    .selectFrom(sql<{ id: string }>`(select ${workspaceId}::uuid as id)`.as('w'))
    .select(sql<BudgetStanding>`${sql.raw(budgetStandingSql('w.id'))}`.as('standing')),
);

/** Returns a workspace's budget standing, in one query. */
export async function readBudgetStanding(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<BudgetStanding> {
  const found = await row(tx.em, standingOf({ workspaceId }));
  if (!found) throw new Error('the standing of budgets gave no row');
  return found.standing;
}
