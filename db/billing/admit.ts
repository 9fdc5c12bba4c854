import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** How the enforced budgets of a workspace stand: the period that is spent up, and whether calls in flight take the rest of one. */
export interface Admission {
  readonly full_at: string | null;
  readonly is_held: boolean;
  readonly is_enforced: boolean;
}

/**
 * How a workspace's budgets stand, as an expression that gives an Admission (jsonb), for a query that reads the workspace anyway. A window that
 * has ended bounds nothing any more; the limit is the budget's, which is written together with its window's.
 */
export function admissionSql(workspaceId: string): string {
  return `(
    select jsonb_build_object('full_at', min(s.period) filter (where s.spent >= s.cap), 'is_held', coalesce(bool_or(s.spent + s.reserved >= s.cap), false),
             'is_enforced', count(*) > 0)
      from (select g.period, g.limit_amount as cap, coalesce(b.spent, 0) as spent, coalesce(b.reserved, 0) as reserved
              from budgets g
              left join budget_windows b on b.budget_id = g.id and b.closed_at is null and b.window_end > clock_timestamp()
             where g.workspace_id = ${workspaceId} and g.is_enforced and g.limit_amount is not null) s)`;
}

/** 402 `budget_exceeded` where an enforced budget is spent up, 429 `rate_limited` (`budget_reserved`) where only calls in flight fill it; else null. */
export function spendingRefusal({ full_at: fullAt, is_held: isHeld }: Admission): Failure | null {
  if (fullAt !== null) return fail('budget_exceeded', { context: { period: fullAt }, detail: `The budget of the ${fullAt} is spent.` });
  if (!isHeld) return null;
  return fail('rate_limited', { reason: 'budget_reserved', detail: 'Calls in flight hold the rest of the budget.', retryAfterS: 5 });
}

/** Admits work that will spend in a workspace, in one query, or throws what `spendingRefusal` gives. */
export async function admit(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<void> {
  const found = await row<{ spending: Admission }>(
    tx.em,
    `select ${admissionSql('place.id')} as spending from (select ?::uuid as id) place`,
    [workspaceId],
  );
  const refusal = found && spendingRefusal(found.spending);
  if (refusal) throw refusal;
}
