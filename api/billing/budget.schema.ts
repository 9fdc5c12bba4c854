import Type, { type Static } from 'typebox';
import { budgetPeriods } from '../../db/billing/budgets/budget.entity.ts';
import type { BudgetRow, BudgetStatusRow } from '../../db/billing/budgets/budgets.ts';
import { decimalText, money } from '../../db/money.ts';
import { iso } from '../../db/sql.ts';
import type { BudgetFields } from '../../domain/billing/budgets.ts';
import { requireDecimal } from '../../domain/billing/decimal-input.ts';
import { closed, Decimal, idOf, integer, nullable, oneOf, Timestamp } from '../http/input/schema.ts';
import { checkCurrency, Currency, Timezone } from '../http/views/zones.ts';

const Period = oneOf(budgetPeriods, { description: 'What the budget is for: a calendar day or a month in the workspace’s time zone' });
const Day = Type.String({
  format: 'date',
  description: 'The day from which windows are counted; months from the 31st end where a month does',
});
const ThresholdPct = integer({ minimum: 1, maximum: 100, description: 'Per cent of the limit from which on the managed alert rule warns' });
const IsEnforced = Type.Boolean({ description: 'Whether a full budget refuses calls; else they are counted and alerted on only' });

export const BudgetParams = closed({ workspace_id: idOf('Workspace') });
export const BudgetQuery = closed({
  period: Type.Optional(oneOf(budgetPeriods, { default: 'month', description: 'Which of the two budgets of the workspace' })),
});
export const BudgetFilters = closed({
  period: Type.Optional(oneOf(budgetPeriods, { description: 'Only budgets of the month, or of the day' })),
  workspace_id: Type.Optional(idOf('Workspace', 'Only those of one workspace')),
});

export const BudgetView = closed(
  {
    workspace_id: idOf('Workspace'),
    period: Period,
    limit_amount: nullable({ ...Decimal, description: 'In its currency; "0.00" blocks everything, null is no ceiling' }),
    currency: Currency,
    is_enforced: IsEnforced,
    alert_threshold_pct: ThresholdPct,
    period_start: Day,
  },
  { $id: 'BudgetView', description: 'What a workspace may spend in a day or a month' },
);

export const BudgetPut = closed(
  {
    period: Type.Optional(oneOf(budgetPeriods, { default: 'month' })),
    limit_amount: Type.Optional(
      Type.Unsafe<number | string | null>({
        type: ['number', 'string', 'null'],
        maxLength: 40,
        description: 'At most 9 decimals and below 10^11; 0 blocks everything, null or left out is no ceiling',
      }),
    ),
    currency: Type.Optional({ ...Currency, default: 'USD' }),
    is_enforced: Type.Optional(Type.Boolean({ default: false })),
    alert_threshold_pct: Type.Optional(integer({ minimum: 1, maximum: 100, default: 80 })),
    period_start: Type.Optional(
      nullable(
        Type.String({
          format: 'date',
          description: 'Null or left out keeps the day of before; of a new budget the first of this month, or today',
        }),
      ),
    ),
  },
  { $id: 'BudgetPut', description: 'All of a budget: what is left out takes its default' },
);

export const BudgetStatusView = closed(
  {
    workspace_id: idOf('Workspace'),
    period: Period,
    currency: Currency,
    limit_amount: nullable(Decimal),
    is_enforced: IsEnforced,
    spent: { ...Decimal, description: 'What calls have cost that were reserved in this window' },
    reserved: { ...Decimal, description: 'What calls in flight hold' },
    remaining: nullable({ ...Decimal, description: 'What the next call may cost at most; null without a limit' }),
    used_pct: nullable({ ...Decimal, description: 'Of the limit that is spent, with one digit; null without a limit' }),
    window_start: Timestamp,
    window_end: { ...Timestamp, description: 'When the next window begins, empty: from then on calls pass again' },
    timezone: Timezone,
    decision: oneOf(['allow', 'held', 'blocked'], {
      description: 'What a call finds now: it passes; calls in flight hold the rest, and it is tried again; what is spent leaves nothing',
    }),
    level: oneOf(['ok', 'warning', 'exceeded'], { description: 'Below the threshold, at it, or at the limit; enforced or not' }),
    fx_rate: nullable({
      ...Decimal,
      description: 'What one unit of the billing currency is worth, to at most 12 decimals; null where the budget is in it',
    }),
    fx_as_of: nullable({ ...Timestamp, description: 'When that rate came into force' }),
    budget_version: integer({ minimum: 1, description: 'Of the budget that was judged, as in its ETag' }),
  },
  { $id: 'BudgetStatusView', description: 'Where a budget stands in its current window' },
);

/** Rates have more decimals than amounts: who multiplies the ledger by what is shown gets what was spent. */
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

/** The wire form of where a budget stands. */
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
