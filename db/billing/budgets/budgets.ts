import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import { Budget, type BudgetPeriod } from './budget.entity.ts';
import { boundsNowSql, ledgerSumSql } from './windows.ts';

/** The one budget of a workspace for a period. */
export interface BudgetKey {
  readonly workspaceId: string;
  readonly period: BudgetPeriod;
}

export interface BudgetFilters {
  readonly period?: BudgetPeriod;
  readonly workspaceId?: string;
}

/** A budget as it is read. */
export type BudgetRow = NonNullable<Awaited<ReturnType<typeof findBudget>>>;
/** The state of a budget in its current window. Amounts are decimals in the budget's currency. */
export type BudgetStatusRow = NonNullable<Awaited<ReturnType<typeof findBudgetStatus>>>;

const columns = [
  'g.id',
  'g.workspaceId',
  'g.period',
  'g.periodStart',
  'g.limitAmount',
  'g.currency',
  'g.isEnforced',
  'g.alertThresholdPct',
  'g.version',
] as const;

type OneBudget = BudgetKey & { readonly visible: Condition };

const oneBudget = prepared(({ workspaceId, period, visible }: ParametersOf<OneBudget>) =>
  query.selectFrom('budgets as g').where('g.workspaceId', '=', workspaceId).where('g.period', '=', period).where(visible).select(columns),
);

/** Returns a budget that the caller sees; null when the workspace has none for the period. */
export function findBudget(ctx: Scoped, key: BudgetKey) {
  return row(ctx.em, oneBudget({ ...key, visible: visibleTo(ctx, Budget, 'g') }));
}

const budgetId = prepared(({ workspaceId, period, visible }: ParametersOf<OneBudget>) =>
  query.selectFrom('budgets as g').where('g.workspaceId', '=', workspaceId).where('g.period', '=', period).where(visible).select('g.id'),
);

/** Returns the id of a budget visible to the caller, whatever the caller's role there, or null. */
export async function findBudgetId(ctx: Scoped, key: BudgetKey): Promise<string | null> {
  const found = await row(ctx.em, budgetId({ ...key, visible: visibleToSql(ctx, Budget, 'g') }));
  return found?.id ?? null;
}

const budgetList = preparedList(
  ({ visible, period, workspaceId }: ParametersOf<BudgetFilters & { visible: Condition }>) => {
    let budgets = query.selectFrom('budgets as g').where(visible).select(columns);
    if (period) budgets = budgets.where('g.period', '=', period);
    if (workspaceId) budgets = budgets.where('g.workspaceId', '=', workspaceId);
    return budgets;
  },
  [{ column: 'g.id', type: 'uuid', descending: true }],
);

/** Lists budgets that the caller sees, newest first. */
export function listBudgetRows(ctx: Scoped, filters: BudgetFilters, page: PageRequest) {
  return budgetList(ctx.em, { ...filters, visible: visibleTo(ctx, Budget, 'g') }, page);
}

interface Stretch {
  readonly start: string;
  readonly stop: string;
  readonly spent: string;
  readonly reserved: string;
  readonly rate: string;
  readonly asOf: string | null;
}

/** The open window, or the one that the next call would open. */
const currentWindow = sql<Stretch>`(
  select o.window_start as start, o.window_end as stop, o.spent, o.reserved, o.fx_rate as rate, o.fx_as_of as as_of
    from budget_windows o where o.budget_id = g.id and o.closed_at is null and o.window_end > clock_timestamp()
  union all
  select n.start, n.stop, ${sql.raw(ledgerSumSql({ workspaceId: 'g.workspace_id', base: 'n.base', rate: 'n.rate', start: 'n.start', end: 'n.stop' }))}, 0, n.rate, n.as_of
    from (select w.timezone as zone) z ${sql.raw(boundsNowSql)}
    left join lateral (select b.window_end, b.fx_rate, b.fx_as_of, coalesce(b.base_currency, b.currency) as base from budget_windows b where b.budget_id = g.id order by b.window_end desc limit 1) last on true
    cross join lateral (
      select greatest(bounds.start, last.window_end) as start, bounds.stop, coalesce(last.fx_rate, 1) as rate, last.fx_as_of as as_of, coalesce(last.base, g.currency) as base) n
   where not exists (select from budget_windows o where o.budget_id = g.id and o.closed_at is null and o.window_end > clock_timestamp()))`;

const budgetStatus = prepared(({ workspaceId, period, visible }: ParametersOf<OneBudget>) =>
  query
    .selectFrom('budgets as g')
    .innerJoin('workspaces as w', 'w.id', 'g.workspaceId')
    .innerJoinLateral(currentWindow.as('c'), (join) => join.onTrue())
    .where('g.workspaceId', '=', workspaceId)
    .where('g.period', '=', period)
    .where(visible)
    .select(columns)
    .select(['w.timezone', 'c.start', 'c.stop', 'c.rate', 'c.asOf'])
    .select([
      sql<string>`c.spent::text`.as('spent'),
      sql<string>`c.reserved::text`.as('reserved'),
      sql<string | null>`case when g.limit_amount is not null then greatest(g.limit_amount - c.spent - c.reserved, 0) end::text`.as(
        'remaining',
      ),
      sql<string | null>`case g.limit_amount when 0 then 100.0 else round(c.spent * 100 / g.limit_amount, 1) end::text`.as('usedPct'),
      sql<boolean>`coalesce(c.spent >= g.limit_amount, false)`.as('isSpent'),
      sql<boolean>`coalesce(c.spent + c.reserved >= g.limit_amount, false)`.as('isFull'),
      sql<boolean>`coalesce(c.spent * 100 >= g.limit_amount * g.alert_threshold_pct, false)`.as('isNearlySpent'),
    ]),
);

/** Returns the current state of a budget that the caller sees, in one query; null when the workspace has none for the period. */
export function findBudgetStatus(ctx: Scoped, key: BudgetKey) {
  return row(ctx.em, budgetStatus({ ...key, visible: visibleTo(ctx, Budget, 'g') }));
}
