import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { workspacesQuery } from '../app/queries.ts';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { usageTexts as u } from './messages.ts';

type Budget = Views['BudgetView'];

const fields: readonly FormField[] = [
  { name: 'limit_amount', label: u.fields.limit, hint: u.fields.limitHint },
  { name: 'currency', label: u.fields.currency },
  { kind: 'check', name: 'is_enforced', label: u.fields.enforced },
  { name: 'alert_threshold_pct', label: u.fields.alertAt, inputMode: 'numeric' },
  { kind: 'day', name: 'period_start', label: u.fields.start },
];

const months = { id: 'month', label: u.periods.month } as const;
const days = { id: 'day', label: u.periods.day } as const;

/** The fields of a budget as the API takes them; the amount stays the text that was typed. */
function toPut(values: Values): Views['BudgetPut'] | null {
  const { limit_amount = '', currency = '', is_enforced, alert_threshold_pct = '', period_start = '' } = values;
  if (currency.trim() === '' || !/^\d+$/.test(alert_threshold_pct)) return null;
  return {
    limit_amount: limit_amount.trim() === '' ? null : limit_amount.trim(),
    currency: currency.trim().toUpperCase(),
    is_enforced: is_enforced === 'true',
    alert_threshold_pct: Number(alert_threshold_pct),
    ...(period_start !== '' && { period_start }),
  };
}

/** A budget for a workspace that has none for the period. */
export function AddBudget({ taken }: { readonly taken: readonly Budget[] }) {
  const queries = useQueryClient();
  const workspaces = useSuspenseQuery(workspacesQuery).data.items.filter(({ is_active }) => is_active);
  const free = workspaces
    .flatMap(({ id, name }) => [months, days].map((period) => ({ id: `${id} ${period.id}`, label: `${name}, per ${period.label}` })))
    .filter((place) => !taken.some(({ workspace_id, period }) => place.id === `${workspace_id} ${period}`));
  return (
    <FormDialog
      label={u.addBudget}
      title={u.addBudgetTitle}
      submit={t.actions.save}
      isPrimary
      disabledBecause={free.length === 0 ? u.allSet : null}
      fields={[{ kind: 'choice', name: 'place', label: u.budget.workspace, options: free }, ...fields]}
      initial={{ place: free[0]?.id ?? '', currency: 'USD', is_enforced: 'true', alert_threshold_pct: '80' }}
      toContent={(values) => {
        const put = toPut(values);
        const [workspace_id = '', period] = (values['place'] ?? '').split(' ');
        return put && { ...put, workspace_id, period: period === 'day' ? ('day' as const) : ('month' as const) };
      }}
      write={(content, options) => api.putBudget(content, options)}
      onDone={() => void refresh(queries)}
    />
  );
}

/** Changes a budget in the version that it was opened with. */
export function EditBudget({ budget: { workspace_id, period }, name }: { readonly budget: Budget; readonly name: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={u.editBudget}
      title={u.editBudgetTitle(name, u.periods[period])}
      submit={t.actions.save}
      fields={fields}
      read={async () => {
        const budget = await api.getBudget({ workspace_id, period });
        const { limit_amount, currency, is_enforced, alert_threshold_pct, period_start } = budget;
        const values = {
          limit_amount: limit_amount ?? '',
          currency,
          is_enforced: is_enforced ? 'true' : '',
          alert_threshold_pct: String(alert_threshold_pct),
          period_start,
        };
        return { values, etag: etagOf(budget) };
      }}
      toContent={toPut}
      write={(content, options) => api.putBudget({ ...content, workspace_id, period }, options)}
      onDone={() => void refresh(queries)}
    />
  );
}

async function refresh(queries: ReturnType<typeof useQueryClient>): Promise<void> {
  await Promise.all([queries.invalidateQueries({ queryKey: ['budgets'] }), queries.invalidateQueries({ queryKey: ['budget-status'] })]);
}
