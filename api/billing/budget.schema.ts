import Type, { type Static } from 'typebox';
import { budgetPeriods } from '../../db/billing/budgets/budget.entity.ts';
import type { BudgetRow, BudgetStatusRow } from '../../db/billing/budgets/budgets.ts';
import { decimalText, money } from '../../db/money.ts';
import { iso } from '../../db/sql.ts';
import type { BudgetFields } from '../../domain/billing/budgets.ts';
import { requireDecimal } from '../../domain/billing/decimal-input.ts';
import { closed, Decimal, idOf, integer, nullable, oneOf, Timestamp } from '../http/input/schema.ts';
import { checkCurrency, Currency, Timezone } from '../http/views/zones.ts';

const Period = oneOf(budgetPeriods, { description: 'The period of the budget: a calendar day or a month in the workspace’s time zone' });
const Day = Type.String({
  format: 'date',
  description: 'The day from which windows are counted; windows from the 31st end at the end of shorter months',
});
const ThresholdPct = integer({ minimum: 1, maximum: 100, description: 'Percentage of the limit from which the managed alert rule warns' });
const IsEnforced = Type.Boolean({
  description: 'Whether calls are refused when the budget is exhausted; otherwise they are only counted and alerted on',
});

export const BudgetParams = closed({ workspace_id: idOf('Workspace') });
export const BudgetQuery = closed({
  period: Type.Optional(oneOf(budgetPeriods, { default: 'month', description: 'Which of the two budgets of the workspace' })),
});
export const BudgetFilters = closed({
  period: Type.Optional(oneOf(budgetPeriods, { description: 'Only monthly, or only daily, budgets' })),
  workspace_id: Type.Optional(idOf('Workspace', 'Only budgets of this workspace')),
});

export const BudgetView = closed(
  {
    workspace_id: idOf('Workspace'),
    period: Period,
    limit_amount: nullable({ ...Decimal, description: 'In the currency of the budget; "0.00" blocks everything, null means no limit' }),
    currency: Currency,
    is_enforced: IsEnforced,
    alert_threshold_pct: ThresholdPct,
    period_start: Day,
  },
  { $id: 'BudgetView', description: 'What a workspace can spend in a day or a month' },
);

export const BudgetPut = closed(
  {
    period: Type.Optional(oneOf(budgetPeriods, { default: 'month' })),
    limit_amount: Type.Optional(
      Type.Unsafe<number | string | null>({
        type: ['number', 'string', 'null'],
        maxLength: 40,
        description: 'At most 9 decimals and below 10^11; 0 blocks everything, null or omitted means no limit',
      }),
    ),
    currency: Type.Optional({ ...Currency, default: 'USD' }),
    is_enforced: Type.Optional(Type.Boolean({ default: false })),
    alert_threshold_pct: Type.Optional(integer({ minimum: 1, maximum: 100, default: 80 })),
    period_start: Type.Optional(
      nullable(
        Type.String({
          format: 'date',
          description: 'Null or omitted keeps the current day; for a new budget, the first of this month, or today',
        }),
      ),
    ),
  },
  { $id: 'BudgetPut', description: 'A complete budget: omitted fields take their defaults' },
);

export const BudgetStatusView = closed(
  {
    workspace_id: idOf('Workspace'),
    period: Period,
    currency: Currency,
    limit_amount: nullable(Decimal),
    is_enforced: IsEnforced,
    spent: { ...Decimal, description: 'Cost of the calls that were reserved in this window' },
    reserved: { ...Decimal, description: 'Amount held by calls in flight' },
    remaining: nullable({ ...Decimal, description: 'Maximum cost of the next call; null without a limit' }),
    used_pct: nullable({ ...Decimal, description: 'Percentage of the limit that is spent, with one decimal; null without a limit' }),
    window_start: Timestamp,
    window_end: { ...Timestamp, description: 'When the next window begins with nothing spent: calls pass again from then on' },
    timezone: Timezone,
    decision: oneOf(['allow', 'held', 'blocked'], {
      description: 'What would happen to a call now: it passes; calls in flight hold the rest, so it is retried; or the budget is spent',
    }),
    level: oneOf(['ok', 'warning', 'exceeded'], {
      description: 'Whether spending is below the threshold, at the threshold or at the limit, whether or not the budget is enforced',
    }),
    fx_rate: nullable({
      ...Decimal,
      description: 'Value of one unit of the billing currency, with at most 12 decimals; null if the budget is in that currency',
    }),
    fx_as_of: nullable({ ...Timestamp, description: 'When this rate came into force' }),
    budget_version: integer({ minimum: 1, description: 'Version of the budget that was evaluated, as in its ETag' }),
  },
  { $id: 'BudgetStatusView', description: 'The state of a budget in its current window' },
);

/** Rates have more decimals than amounts, so that the ledger multiplied by the shown rate gives what was spent. */
const maxRateDecimals = 12;

/** What a body asks for, with its defaults. 422 for what no schema says: digits of an amount, a currency that does not exist. */
export function toBudgetFields(body: Static<typeof BudgetPut>): BudgetFields {
  const {
    limit_amount: limit = null,
    currency = 'USD',
    is_enforced: isEnforced = false,
    alert_threshold_pct: alertThresholdPct = 80,
  } = body;
  checkCurrency('/currency', currency);
  const limitAmount = limit === null ? null : requireDecimal('/limit_amount', limit, { maxDecimals: 9 });
  return { limitAmount, currency, isEnforced, alertThresholdPct, periodStart: body.period_start ?? null };
}

/** The wire form of a budget. */
export function toBudgetView(row: Omit<BudgetRow, 'id' | 'version'>): Static<typeof BudgetView> {
  return {
    workspace_id: row.workspaceId,
    period: row.period,
    limit_amount: row.limitAmount === null ? null : money(row.limitAmount),
    currency: row.currency,
    is_enforced: row.isEnforced,
    alert_threshold_pct: row.alertThresholdPct ?? 100,
    period_start: row.periodStart,
  };
}

/** The wire form of the state of a budget. */
export function toBudgetStatusView(row: BudgetStatusRow): Static<typeof BudgetStatusView> {
  return {
    workspace_id: row.workspaceId,
    period: row.period,
    currency: row.currency,
    limit_amount: row.limitAmount === null ? null : money(row.limitAmount),
    is_enforced: row.isEnforced,
    spent: money(row.spent),
    reserved: money(row.reserved),
    remaining: row.remaining === null ? null : money(row.remaining),
    used_pct: row.usedPct,
    window_start: iso(row.start),
    window_end: iso(row.stop),
    timezone: row.timezone,
    decision: decisionOf(row),
    level: row.isSpent ? 'exceeded' : row.isNearlySpent ? 'warning' : 'ok',
    fx_rate: row.asOf === null ? null : decimalText(row.rate, maxRateDecimals),
    fx_as_of: iso(row.asOf),
    budget_version: row.version,
  };
}

function decisionOf({ isEnforced, isSpent, isFull }: BudgetStatusRow): 'allow' | 'held' | 'blocked' {
  if (!isEnforced || !isFull) return 'allow';
  return isSpent ? 'blocked' : 'held';
}
