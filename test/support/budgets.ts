import { newId } from '../../db/ids.ts';
import type { Databases } from '../../db/databases.ts';
import { rollWindows } from '../../db/billing/budgets/windows.ts';
import { sweep } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';

export interface BudgetWindowFacts {
  readonly name: string;
  readonly spent: string;
  readonly reserved: string;
  readonly is_closed: boolean;
}

/** Budgets and prices of a workspace as an admin and an operator would have set them. */
export interface TestBudgets {
  /** Replaces whatever budget of the day there was; null: none. */
  day(limit: string | null, options?: { readonly isEnforced?: boolean }): Promise<void>;
  /** Changes the limit in place, as a PUT does. */
  raise(limit: string): Promise<void>;
  /** Ends the open window so many seconds from now. */
  endsIn(seconds: number): Promise<void>;
  windows(): Promise<BudgetWindowFacts[]>;
  ledger(runIds: readonly string[]): Promise<string>;
}

export function testBudgets(db: Databases, place: { readonly organizationId: string; readonly workspaceId: string }): TestBudgets {
  const { organizationId, workspaceId } = place;
  const sql = <T>(text: string, params: readonly unknown[]) => sweep(db, (em) => rows<T>(em, text, params));

  return {
    async day(limit, { isEnforced = true } = {}) {
      await sql('delete from budget_holds where workspace_id = ?', [workspaceId]);
      await sql('delete from budget_windows where workspace_id = ?', [workspaceId]);
      await sql('delete from budgets where workspace_id = ?', [workspaceId]);
      if (limit === null) return;
      await sql(
        `insert into budgets (id, organization_id, workspace_id, period, period_start, limit_amount, currency, is_enforced) values (?, ?, ?, 'day', '2020-01-01', ?, 'USD', ?)`,
        [newId(), organizationId, workspaceId, limit, isEnforced],
      );
      await sweep(db, (em) => rollWindows(em, workspaceId));
      // As if nothing had been spent today: tests of a file share the workspace.
      await sql('update budget_windows set spent = 0 where workspace_id = ?', [workspaceId]);
    },
    async raise(limit) {
      await sql('update budgets set limit_amount = ?, version = version + 1 where workspace_id = ?', [limit, workspaceId]);
      await sql('update budget_windows set limit_amount = ? where workspace_id = ? and budget_id is not null and closed_at is null', [
        limit,
        workspaceId,
      ]);
    },
    async endsIn(seconds) {
      await sql(
        `update budget_windows set window_start = now() - interval '1 day', window_end = now() + make_interval(secs => ?)
          where workspace_id = ? and budget_id is not null and closed_at is null`,
        [seconds, workspaceId],
      );
    },
    windows: () =>
      sql<BudgetWindowFacts>(
        `select coalesce(cap_key, period) as name, trim_scale(spent)::text as spent, trim_scale(reserved)::text as reserved, closed_at is not null as is_closed
           from budget_windows where workspace_id = ? order by period desc, window_start`,
        [workspaceId],
      ),
    async ledger(runIds) {
      const [found] = await sql<{ sum: string }>(
        'select trim_scale(coalesce(sum(cost), 0))::text as sum from usage_entries where run_id = any (?::uuid[])',
        [[...runIds]],
      );
      return found?.sum ?? '0';
    },
  };
}

/** Makes every call to a model cost so much from now on. */
export async function priceCall(db: Databases, model: string, price: string): Promise<void> {
  await sweep(db, (em) =>
    rows(
      em,
      `insert into model_prices (id, model, tier, bucket, unit, price, currency, effective_from) values (?, ?, 'standard', 'call', 'call', ?, 'USD', now() - interval '1 minute')`,
      [newId(), model, price],
    ),
  );
}
