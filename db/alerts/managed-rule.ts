import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AlertSeverity } from './alert-state.entity.ts';

/** The budget that a managed rule monitors. */
export interface WatchedBudget {
  readonly budgetId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly period: 'month' | 'day';
  /** Per cent of the limit at which a warning starts; null: only at 100. */
  readonly alertThresholdPct: number | null;
}

const managedColumns = [
  'id',
  'organizationId',
  'workspaceId',
  'name',
  'kind',
  'targets',
  'isActive',
  'repeatIntervalS',
  'threshold',
  'warningThreshold',
] as const;

/**
 * Creates the managed rule of a budget, or sets its thresholds to the budget's and keeps what users have set: targets, repeat interval, whether it is active.
 * Returns the rule.
 */
export async function putManagedRule(tx: TenantTransaction, budget: WatchedBudget) {
  const { budgetId, organizationId, workspaceId, period, alertThresholdPct } = budget;
  const warningThreshold = alertThresholdPct === null ? null : String(alertThresholdPct);
  const thresholds = { operator: 'gte' as const, threshold: '100', warningThreshold };
  const named = { name: period === 'day' ? 'Budget of the day' : 'Budget of the month', kind: 'budget' as const };
  const place = { organizationId, workspaceId, budgetId };

  const rule = await row(
    tx.em,
    query
      .insertInto('alert_rules')
      .values({ id: newId(), ...place, ...named, ...thresholds, groupBy: 'none', targets: [{ kind: 'admins' }], isActive: true })
      .onConflict((conflict) =>
        conflict
          .column('budgetId')
          .where(sql<boolean>`budget_id is not null and deleted_at is null`)
          .doUpdateSet(({ eb }) => ({ ...thresholds, updatedAt: sql<Date>`now()`, version: eb('alert_rules.version', '+', 1) })),
      )
      .returning(managedColumns),
  );
  if (!rule) throw new Error('The rule of a budget was put and is not visible: the transaction is of another tenant');
  return rule;
}

/** A managed rule in the form that `emitAlert` takes. */
export type ManagedRule = Awaited<ReturnType<typeof putManagedRule>>;

/** Returns the managed rule of a budget, or null when it has none. */
export function readManagedRule(tx: TenantTransaction, budgetId: string): Promise<ManagedRule | null> {
  return row(tx.em, query.selectFrom('alert_rules').where('budgetId', '=', budgetId).where('deletedAt', 'is', null).select(managedColumns));
}

/** Returns the open alert of a rule with its window and severity, or null when none is open. */
export function readOpenAlert(tx: TenantTransaction, ruleId: string) {
  return row(
    tx.em,
    query
      .selectFrom('alerts')
      .where('ruleId', '=', ruleId)
      .where('resolvedAt', 'is', null)
      .select(['id', 'windowKey', 'severity', 'snoozedUntil']),
  );
}

/** Returns the severity of the alert of a window, open or not, or null when there was none. */
export async function severityOfWindow(
  tx: TenantTransaction,
  { ruleId, windowKey }: { readonly ruleId: string; readonly windowKey: string },
): Promise<AlertSeverity | null> {
  const alert = await row(
    tx.em,
    query.selectFrom('alerts').where('ruleId', '=', ruleId).where('windowKey', '=', windowKey).select('severity'),
  );
  return alert?.severity ?? null;
}

/** Deletes the managed rule of a budget, with its states. The caller that deletes the budget has resolved its open alert before. */
export async function deleteManagedRule(tx: TenantTransaction, budgetId: string, at: Date): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('alert_rules')
      .set(({ eb }) => ({ deletedAt: at, isActive: false, version: eb('version', '+', 1) }))
      .where('budgetId', '=', budgetId)
      .where('deletedAt', 'is', null),
  );
}
