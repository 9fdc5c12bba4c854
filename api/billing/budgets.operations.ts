import { mapPage } from '../../db/page.ts';
import { listBudgetRows } from '../../db/billing/budgets/budgets.ts';
import type { Budget } from '../../db/billing/budgets/budget.entity.ts';
import { deleteBudget, putBudget } from '../../domain/billing/budgets.ts';
import { seeBudget, seeBudgetStatus } from '../../domain/billing/budgets.ts';
import { changesOf } from '../http/operation/changes.ts';
import { area, get, list, put, remove, reply, type AuditNote } from '../http/operation/operation.ts';
import {
  BudgetFilters,
  BudgetParams,
  BudgetPut,
  BudgetQuery,
  BudgetStatusView,
  BudgetView,
  toBudgetFields,
  toBudgetStatusView,
  toBudgetView,
} from './budget.schema.ts';

export const budgets = area('Billing', {
  listBudgets: list(
    '/budgets',
    {
      summary: 'List budgets',
      description: 'Budgets of the workspaces that the caller can see, newest first.',
      access: 'viewer',
      paging: 'keyset',
      query: BudgetFilters,
      view: BudgetView,
    },
    async (ctx, { query: { period, workspace_id: workspaceId } }) =>
      mapPage(await listBudgetRows(ctx, { period, workspaceId }, ctx.page), toBudgetView),
  ),

  getBudget: get(
    '/budgets/{workspace_id}',
    {
      summary: 'Read a budget',
      description: 'Returns the monthly budget of a workspace, or the daily one with period=day.',
      access: 'viewer',
      etag: true,
      params: BudgetParams,
      query: BudgetQuery,
      view: BudgetView,
    },
    async (ctx, { params, query: { period = 'month' } }) => {
      const budget = await seeBudget(ctx, { workspaceId: params.workspace_id, period });
      return reply(toBudgetView(budget), { version: budget.version });
    },
  ),

  putBudget: put(
    '/budgets/{workspace_id}',
    {
      summary: 'Set a budget',
      description:
        'Creates or completely replaces the budget of a workspace for a period. Every call that is reserved after the reply is checked against it, in every process, and runs that wait for a budget check it again. A new period_start redefines the open window, and a new currency recounts it; both are summed from the ledger. The budget comes with a managed alert rule, which notifies once per window when the threshold is passed and once when the budget is spent; a changed budget is evaluated at once and can notify again.',
      access: 'admin',
      audit: 'update',
      etag: true,
      success: [200],
      params: BudgetParams,
      body: BudgetPut,
      view: BudgetView,
      example: { body: { period: 'month', limit_amount: '250.00', is_enforced: true, alert_threshold_pct: 80 } },
    },
    async (ctx, { params, body }) => {
      const key = { workspaceId: params.workspace_id, period: body.period ?? 'month' };
      const asked = { ...toBudgetFields(body), base: ctx.deps.env.billingCurrency };
      const { budget, before } = await putBudget(ctx, key, asked);

      const view = toBudgetView(budget);
      ctx.audit(noteOf(budget, changesOf<Partial<typeof view>>(before === null ? {} : toBudgetView({ ...key, ...before }), view, fields)));
      return reply(view, { version: budget.version });
    },
  ),

  deleteBudget: remove(
    '/budgets/{workspace_id}',
    {
      summary: 'Delete a budget',
      description:
        'Deletes the monthly budget of a workspace, or the daily one with period=day, together with its managed alert rule. What was spent stays in the ledger.',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      params: BudgetParams,
      query: BudgetQuery,
    },
    async (ctx, { params, query: { period = 'month' } }) => {
      const budget = await deleteBudget(ctx, { workspaceId: params.workspace_id, period });
      ctx.audit(noteOf(budget, {}));
    },
  ),

  getBudgetStatus: get(
    '/budgets/{workspace_id}/status',
    {
      summary: 'Read the state of a budget',
      description:
        'Returns what is spent and held in the current window of a budget, whether a call would pass, and when the next window begins.',
      access: 'viewer',
      params: BudgetParams,
      query: BudgetQuery,
      view: BudgetStatusView,
    },
    async (ctx, { params, query: { period = 'month' } }) =>
      toBudgetStatusView(await seeBudgetStatus(ctx, { workspaceId: params.workspace_id, period })),
  ),
});

const fields = ['limit_amount', 'currency', 'is_enforced', 'alert_threshold_pct', 'period_start'] as const;

function noteOf(budget: Budget, changes: AuditNote['changes']): AuditNote {
  const { id, organizationId, workspaceId, period } = budget;
  return { resourceType: 'budget', resourceId: id, label: period, organizationId, workspaceId, changes };
}
