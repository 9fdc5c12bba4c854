import { newId } from '../../../db/ids.ts';
import { runCapKey } from '../../../db/billing/budgets/cap-keys.ts';
import { reserve, type Reservation, type ReserveResult } from '../../../db/billing/budgets/holds.ts';
import { rollWindows } from '../../../db/billing/budgets/windows.ts';
import type { Databases } from '../../../db/databases.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';
import { makeWorld } from '../world.ts';

export interface BudgetDraft {
  readonly period?: 'day' | 'month';
  readonly limit?: string | null;
  readonly isEnforced?: boolean;
  readonly periodStart?: string;
  readonly thresholdPct?: number | null;
}

export interface WindowFacts {
  readonly id: string;
  readonly name: string;
  readonly spent: string;
  readonly reserved: string;
  readonly window_start: string;
  readonly window_end: string | null;
  readonly is_closed: boolean;
}

/** A workspace of its own with budgets, and the gate before it. */
export interface BudgetPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
  inPlace<R>(work: (tx: TenantTransaction) => Promise<R>, db?: Databases): Promise<R>;
  budget(draft: BudgetDraft): Promise<string>;
  cap(runId: string, limit: string): Promise<string>;
  /** Reserves as a worker does: windows that have ended are rolled first. */
  reserve(wanted: Partial<Reservation> & { readonly estimate: string }, db?: Databases): Promise<ReserveResult>;
  windows(): Promise<WindowFacts[]>;
  holds(): Promise<{ call_key: string; state: string; amount: string }[]>;
  sql<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
}

export interface BudgetWorld {
  readonly database: TestDatabase;
  place(zone?: string): Promise<BudgetPlace>;
  close(): Promise<void>;
}

export async function openBudgetWorld(options: Parameters<typeof testDatabase>[0] = {}): Promise<BudgetWorld> {
  const database = await testDatabase(options);
  return { database, place: (zone) => makePlace(database, zone ?? 'UTC'), close: () => database.drop() };
}

async function makePlace({ db: own }: TestDatabase, zone: string): Promise<BudgetPlace> {
  const { organizationId, workspaceIds } = await makeWorld(own);
  const workspaceId = workspaceIds[0] ?? '';
  const sql = <T>(text: string, params: readonly unknown[] = []) => sweep(own, (em) => rows<T>(em, text, params));
  await sql('update workspaces set timezone = ? where id = ?', [zone, workspaceId]);
  const inPlace = async <R>(work: (tx: TenantTransaction) => Promise<R>, db: Databases = own): Promise<R> =>
    (await transact(db, { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() }, work)).value;

  return {
    organizationId,
    workspaceId,
    inPlace,
    sql,
    budget: async ({ period = 'day', limit = null, isEnforced = true, periodStart = '2020-01-01', thresholdPct = null }) => {
      const id = newId();
      await sql(
        `insert into budgets (id, organization_id, workspace_id, period, period_start, limit_amount, currency, is_enforced, alert_threshold_pct)
         values (?, ?, ?, ?, ?, ?, 'USD', ?, ?)`,
        [id, organizationId, workspaceId, period, periodStart, limit, isEnforced, thresholdPct],
      );
      return id;
    },
    cap: async (runId, limit) => {
      await sql(
        `insert into budget_windows (id, organization_id, workspace_id, period, cap_key, window_start, currency, limit_amount)
         values (?, ?, ?, 'cap', ?, now(), 'USD', ?)`,
        [newId(), organizationId, workspaceId, runCapKey(runId), limit],
      );
      return runCapKey(runId);
    },
    reserve: async (wanted, db = own) => {
      const whole = { callKey: newId(), organizationId, workspaceId, caps: [], ...wanted };
      for (;;) {
        const found = await inPlace((tx) => reserve(tx, whole), db);
        if (found.outcome !== 'stale') return found;
        await inPlace((tx) => rollWindows(tx.em, workspaceId), db);
      }
    },
    windows: () =>
      sql<WindowFacts>(
        `select id, coalesce(cap_key, period) as name, spent::text as spent, reserved::text as reserved, window_start, window_end, closed_at is not null as is_closed
           from budget_windows where workspace_id = ? order by period, window_start`,
        [workspaceId],
      ),
    holds: () =>
      sql('select call_key, state, amount::text as amount from budget_holds where workspace_id = ? order by call_key', [workspaceId]),
  };
}
