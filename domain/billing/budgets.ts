import { followedTime } from '../../db/database-clock.ts';
import { Decimal } from 'decimal.js';
import { fireBudgetAlert, resolveBudgetAlert } from '../../db/billing/budgets/budget-crossing.ts';
import { deleteManagedRule, putManagedRule, readManagedRule } from '../../db/alerts/managed-rule.ts';
import { Budget } from '../../db/billing/budgets/budget.entity.ts';
import { wakeBudgetWaiters } from '../../db/billing/budgets/budget-wait.ts';
import {
  findBudgetId,
  type BudgetKey,
  findBudget,
  findBudgetStatus,
  type BudgetRow,
  type BudgetStatusRow,
} from '../../db/billing/budgets/budgets.ts';
import { baseOfWindow, closeWindow, cutWindow, judgeWindow } from '../../db/billing/budgets/cut-window.ts';
import { rateInForce, type RateInForce } from '../../db/billing/prices/fx-rates.ts';
import { lockLedger } from '../../db/billing/ledger/ledger-lock.ts';
import { rollWindows } from '../../db/billing/budgets/windows.ts';
import { newId } from '../../db/ids.ts';
import { removeOne, seeForChange, type Changing, type Scoped } from '../../db/scope.ts';
import { findBudgetScope, type BudgetScope } from '../../db/billing/budgets/budget-scope.ts';
import { fail, invalid, type Failure } from '../../workflows/contracts/failure.ts';
import { readBudgetStanding, type BudgetStanding } from '../../db/billing/budgets/budget-standing.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** The fields of a budget beside its key. Amounts are decimals. */
export interface BudgetFields {
  /** Null: no ceiling, still counted. */
  readonly limitAmount: string | null;
  readonly currency: string;
  readonly isEnforced: boolean;
  readonly alertThresholdPct: number;
  /** Day from which windows are counted; null: the existing one, else the first of this month or today. */
  readonly periodStart: string | null;
}

/** The fields as they are stored. */
type StoredFields = BudgetFields & { readonly periodStart: string };

export interface WrittenBudget {
  readonly budget: Budget;
  readonly before: StoredFields | null;
}

/**
 * Writes the budget of a workspace for a period, whether there was one or not: its row, its open window and its managed rule, judged at once; wakes the runs
 * that wait for it. An equal budget stays as it is. `base` is the currency in which calls are priced.
 * @throws 404 for a workspace that the caller does not see, 403, 404 with If-Match when there is no budget, 412, 423, and 422 `currency_unsupported` for a
 * currency to which there is no rate.
 */
export async function putBudget(ctx: Changing, key: BudgetKey, asked: BudgetFields & { readonly base: string }): Promise<WrittenBudget> {
  const { base, ...fields } = asked;
  const scope = await findBudgetScope(ctx, key.workspaceId);
  // The first of all locks, so that calls being settled are in both the ledger and the windows, or in neither.
  await lockLedger(ctx.em, key.workspaceId);
  const id = await findBudgetId(ctx, key);
  const written = id === null ? await makeBudget(ctx, scope, { key, fields, base }) : await changeBudget(ctx, scope, { id, fields, base });
  if (written.isChanged) await wakeBudgetWaiters(ctx, key.workspaceId);
  return written;
}

interface Put {
  readonly fields: BudgetFields;
  readonly base: string;
}

type Written = WrittenBudget & { readonly isChanged: boolean };

async function makeBudget(ctx: Changing, scope: BudgetScope, { key, fields, base }: Put & { readonly key: BudgetKey }): Promise<Written> {
  // A budget that does not exist matches no tag.
  if (ctx.ifMatch !== null) throw fail('not_found');
  scope.assertActive();
  await requireRate(ctx, base, fields.currency);
  const periodStart = fields.periodStart ?? defaultAnchor(scope, key.period);
  const place = { organizationId: scope.organizationId, workspaceId: key.workspaceId };
  const budget = ctx.em.create(Budget, { id: newId(), ...place, period: key.period, ...fields, periodStart, alertRuleId: null });
  await ctx.em.persist(budget).flush();

  await rollWindows(ctx.em, key.workspaceId, base);
  await judgeAnew(ctx, budget);
  return { budget, before: null, isChanged: true };
}

async function changeBudget(ctx: Changing, scope: BudgetScope, { id, fields, base }: Put & { readonly id: string }): Promise<Written> {
  // Rolls the windows first, so that the change applies to the current window.
  await rollWindows(ctx.em, scope.workspaceId, base);
  const budget = await seeForChange(ctx, Budget, id);
  const before = fieldsOf(budget);
  const after = { ...fields, periodStart: fields.periodStart ?? budget.periodStart };
  // After a change of BILLING_CURRENCY an equal budget has to be rewritten too: its window counted amounts in the former currency.
  const isPricedAnew = (await baseOfWindow(ctx, id)) !== base;
  if (isSame(before, after) && !isPricedAnew) return { budget, before, isChanged: false };
  const rate = after.currency === before.currency && !isPricedAnew ? null : { ...(await requireRate(ctx, base, after.currency)), base };

  Object.assign(budget, after, { updatedAt: followedTime(ctx.em) });
  await ctx.em.flush();
  await cutWindow(ctx, { budgetId: id, isMoved: after.periodStart !== before.periodStart, rate });
  await judgeAnew(ctx, budget);
  return { budget, before, isChanged: true };
}

/** Resolves an open alert, which was about the former budget, and judges at once how full the new one is. */
async function judgeAnew(ctx: Changing, budget: Budget): Promise<void> {
  const { id: budgetId, organizationId, workspaceId, period, alertThresholdPct } = budget;
  const rule = await putManagedRule(ctx, { budgetId, organizationId, workspaceId, period, alertThresholdPct });
  await resolveBudgetAlert(ctx, rule, 'budget_changed');
  const full = await judgeWindow(ctx, budgetId);
  if (full) await fireBudgetAlert(ctx, rule, full, full.severity);
}

/**
 * Deletes the budget of a workspace for a period, with its managed rule; the ledger stays, and calls in flight settle into the closed window.
 * @throws 404, 403.
 */
export async function deleteBudget(ctx: Changing, key: BudgetKey): Promise<Budget> {
  await findBudgetScope(ctx, key.workspaceId);
  await lockLedger(ctx.em, key.workspaceId);
  const id = await findBudgetId(ctx, key);
  if (id === null) throw fail('not_found');
  const budget = await seeForChange(ctx, Budget, id, { openWhenSuspended: true });

  const rule = await readManagedRule(ctx, id);
  await closeWindow(ctx, id);
  if (rule) await resolveBudgetAlert(ctx, rule, 'budget_changed');
  await deleteManagedRule(ctx, id, followedTime(ctx.em));
  await removeOne(ctx.em, Budget, id);
  await wakeBudgetWaiters(ctx, key.workspaceId);
  return budget;
}

async function requireRate(ctx: Changing, base: string, quote: string): Promise<RateInForce> {
  const rate = await rateInForce(ctx, { base, quote });
  if (rate === null)
    throw invalid(
      '/currency',
      'currency_unsupported',
      `Calls are priced in ${base}, and there is no exchange rate to ${quote}. An operator can import one.`,
    );
  return rate;
}

function defaultAnchor({ today }: BudgetScope, period: BudgetKey['period']): string {
  return period === 'day' ? today : `${today.slice(0, 8)}01`;
}

function fieldsOf({ limitAmount, currency, isEnforced, alertThresholdPct, periodStart }: Budget): StoredFields {
  return { limitAmount: limitAmount ?? null, currency, isEnforced, alertThresholdPct: alertThresholdPct ?? 100, periodStart };
}

function isSame(before: BudgetFields, after: BudgetFields): boolean {
  const isSameLimit =
    before.limitAmount === null || after.limitAmount === null
      ? before.limitAmount === after.limitAmount
      : new Decimal(before.limitAmount).eq(after.limitAmount);
  return (
    isSameLimit &&
    before.currency === after.currency &&
    before.isEnforced === after.isEnforced &&
    before.alertThresholdPct === after.alertThresholdPct &&
    before.periodStart === after.periodStart
  );
}

/** Returns a budget that the caller sees. Throws 404 when the workspace has none for the period, or is not visible. */
export async function seeBudget(ctx: Scoped, key: BudgetKey): Promise<BudgetRow> {
  return (await findBudget(ctx, key)) ?? refuseMissing(key);
}

/** Returns the current status of a budget that the caller sees. Throws 404 as `seeBudget` does. */
export async function seeBudgetStatus(ctx: Scoped, key: BudgetKey): Promise<BudgetStatusRow> {
  return (await findBudgetStatus(ctx, key)) ?? refuseMissing(key);
}

/** A request without a period means the month, even when only the day has a budget. */
function refuseMissing({ period }: BudgetKey): never {
  const other = period === 'month' ? 'day' : 'month';
  throw fail('not_found', { detail: `There is no budget for the ${period}; read the one for the ${other} with period=${other}.` });
}

/** Checks that work which will spend in a workspace may begin: one query. Throws the failure that `spendingRefusal` returns. */
export async function checkBudgets(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<void> {
  const refusal = spendingRefusal(await readBudgetStanding(tx, workspaceId));
  if (refusal) throw refusal;
}

/**
 * Returns 402 `budget_exceeded` when an enforced budget is spent, 429 `rate_limited` (`budget_reserved`) when only holds of calls in flight fill it, else null.
 */
export function spendingRefusal({ full_at: fullAt, is_held: isHeld }: BudgetStanding): Failure | null {
  if (fullAt !== null) return fail('budget_exceeded', { context: { period: fullAt }, detail: `The budget of the ${fullAt} is spent.` });
  if (!isHeld) return null;
  return fail('rate_limited', { reason: 'budget_reserved', detail: 'Calls in flight hold the rest of the budget.', retryAfterS: 5 });
}
