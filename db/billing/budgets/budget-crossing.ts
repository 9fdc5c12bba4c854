import { followedTime } from '../../database-clock.ts';
import { money } from '../../money.ts';
import { settleHolds, type BudgetSeverity, type SettledCost, type SettledWindow } from '../ledger/settle.ts';
import { iso } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { AlertResolution } from '../../alerts/alert.entity.ts';
import { emitEvent } from '../../triggers/events.ts';
import { emitAlert, type AlertChange, type Firing } from '../../alerts/emit.ts';
import type { JudgedWindow } from './cut-window.ts';
import { readManagedRule, readOpenAlert, severityOfWindow, type ManagedRule } from '../../alerts/managed-rule.ts';

/**
 * Adds a settled call to its budget windows, and opens or escalates the alert of each budget that it took past its threshold or limit: of concurrent calls only
 * one does. The same transaction has written the ledger row before; call this only if it did. Returns the tightest limit that applies to the call, or null when
 * none does.
 */
export async function settleBudgets(tx: TenantTransaction, call: SettledCost): Promise<SettledWindow | null> {
  const windows = await settleHolds(tx, call);
  for (const window of windows) {
    const { budgetId, windowEnd, crossed } = window;
    // A cap has neither a budget nor an end, and crosses nothing.
    if (crossed === null || budgetId === null || windowEnd === null) continue;
    const rule = await readManagedRule(tx, budgetId);
    if (rule) await fireBudgetAlert(tx, rule, { ...window, budgetId, windowEnd }, crossed);
  }
  return windows[0] ?? null;
}

/**
 * Notifies once per window that a budget is nearly full, and once that it is full. A notification is not repeated within a window, even when a person has
 * resolved its alert. A paused rule notifies of nothing.
 */
export async function fireBudgetAlert(
  tx: TenantTransaction,
  rule: ManagedRule,
  window: JudgedWindow,
  severity: BudgetSeverity,
): Promise<void> {
  if (!rule.isActive) return;
  const at = followedTime(tx.em);
  const firing = firingOf(window, severity);
  const fullKey = `${firing.windowKey}/critical`;
  const open = await readOpenAlert(tx, rule.id);
  const isSaid = open !== null && [firing.windowKey, fullKey].includes(open.windowKey);
  if (isSaid && (open.severity === 'critical' || severity === 'warning')) return;
  const say = (change: AlertChange) => sayOfWindow(tx, { rule, window, severity }, change, at);
  // A person may resolve it at this very moment: then no notice has said yet that it is full.
  if (isSaid && (await say({ ...firing, event: 'escalated', alertId: open.id }))) return;
  if (open && !isSaid) await emitAlert(tx, rule, { event: 'resolved', alertId: open.id, resolution: 'window_ended' }, at);
  const opened = await say(firing);
  if (opened !== null || severity !== 'critical') return;
  // A person has resolved the warning: no notice has said yet that the budget is full. After a correction, a call may fill the window a second time.
  if ((await severityOfWindow(tx, { ruleId: rule.id, windowKey: firing.windowKey })) === 'warning')
    await say({ ...firing, windowKey: fullKey });
}

interface SaidWindow {
  readonly rule: ManagedRule;
  readonly window: JudgedWindow;
  readonly severity: BudgetSeverity;
}

/** Changes the alert of a budget. When it says that the budget is full, that is also an event of its workspace. */
async function sayOfWindow(
  tx: TenantTransaction,
  { rule, window, severity }: SaidWindow,
  change: AlertChange,
  at: Date,
): Promise<string | null> {
  const alertId = await emitAlert(tx, rule, change, at);
  const { organizationId, workspaceId } = rule;
  if (alertId === null || severity !== 'critical' || organizationId === null || workspaceId === null) return alertId;
  const payload = { budget_id: window.budgetId, alert_id: alertId };
  await emitEvent(tx, { organizationId, workspaceId, eventKind: 'budget.exceeded', source: 'platform', payload, occurredAt: at });
  return alertId;
}

/** Ends the open alert of a budget, if there is one, without a notice: no action is left to take. */
export async function resolveBudgetAlert(
  tx: TenantTransaction,
  rule: ManagedRule,
  resolution: Extract<AlertResolution, 'budget_changed' | 'window_ended'>,
): Promise<void> {
  const open = await readOpenAlert(tx, rule.id);
  if (open) await emitAlert(tx, rule, { event: 'resolved', alertId: open.id, resolution }, followedTime(tx.em));
}

function firingOf(window: JudgedWindow, severity: BudgetSeverity): Firing {
  const { period, currency, limit, spent, usedPct } = window;
  const [start, end] = [iso(window.windowStart), iso(window.windowEnd)];
  return {
    event: 'firing',
    status: 'firing',
    severity,
    fingerprint: 'all',
    windowKey: `${start}/${window.budgetVersion}`,
    labels: { period, window_start: start, window_end: end },
    title: `The budget of the ${period} is ${severity === 'critical' ? 'spent' : 'nearly spent'}: ${money(spent)} of ${money(limit)} ${currency}`,
    value: usedPct,
    threshold: severity === 'critical' ? '100' : String(window.alertThresholdPct ?? 100),
  };
}
