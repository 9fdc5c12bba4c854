import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { workspacesQuery } from '../app/queries.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Money } from '../ui/money.tsx';
import { ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { AddBudget, EditBudget } from './budget-forms.tsx';
import { BudgetMeter } from './budget-meter.tsx';
import { usageTexts as u } from './messages.ts';

type Budget = Views['BudgetView'];
type BudgetStatus = Views['BudgetStatusView'];

/** All budgets with what is spent and reserved of them now. */
export function BudgetsPage() {
  const mayWrite = useMay('admin');
  const workspaces = useSuspenseQuery(workspacesQuery).data.items;
  const list = usePagedList<Budget>({
    queryKey: ['budgets'],
    fetchPage: (cursor, signal) => api.listBudgets({ cursor, limit: 100 }, { signal }),
  });
  const nameOf = (id: string) => workspaces.find((workspace) => workspace.id === id)?.name ?? `…${id.slice(-12)}`;
  return (
    <Page title={u.budgets} actions={mayWrite && !list.isLoading && <AddBudget taken={list.rows} />}>
      <p className="hint">{u.budgetsHint}</p>
      {list.rows.length > 0 && (
        <Table
          label={u.budgets}
          columns={columnsFor(nameOf, mayWrite)}
          rows={list.rows}
          keyOf={({ workspace_id, period }) => `${workspace_id} ${period}`}
        />
      )}
      <ListState list={list} />
    </Page>
  );
}

function columnsFor(nameOf: (id: string) => string, mayWrite: boolean): Column<Budget>[] {
  const { budget } = u;
  const amount = (pick: (status: BudgetStatus) => string | null | undefined) => (row: Budget) => <StatusAmount budget={row} pick={pick} />;
  const columns: Column<Budget>[] = [
    { id: 'workspace', title: budget.workspace, cell: ({ workspace_id }) => nameOf(workspace_id) },
    { id: 'period', title: budget.period, cell: ({ period }) => u.periods[period] },
    { id: 'state', title: budget.state, cell: (row) => <BudgetState budget={row} /> },
    { id: 'spent', title: budget.spent, align: 'end', cell: amount(({ spent }) => spent) },
    { id: 'reserved', title: budget.reserved, align: 'end', cell: amount(({ reserved }) => reserved) },
    { id: 'remaining', title: budget.remaining, align: 'end', cell: amount(({ remaining }) => remaining) },
    {
      id: 'limit',
      title: budget.limit,
      align: 'end',
      cell: ({ limit_amount, currency }) => (limit_amount === null ? u.noLimit : <Money amount={limit_amount} currency={currency} />),
    },
    { id: 'until', title: budget.until, cell: (row) => <WindowEnd budget={row} /> },
  ];
  if (!mayWrite) return columns;
  return [
    ...columns,
    { id: 'actions', title: budget.actions, cell: (row) => <BudgetActions budget={row} name={nameOf(row.workspace_id)} /> },
  ];
}

function useBudgetStatus({ workspace_id, period }: Budget): BudgetStatus | undefined {
  return useQuery({
    queryKey: ['budget-status', workspace_id, period],
    queryFn: ({ signal }) => api.getBudgetStatus({ workspace_id, period }, { signal }),
    refetchInterval: 5_000,
  }).data;
}

function StatusAmount({ budget, pick }: { readonly budget: Budget; readonly pick: (status: BudgetStatus) => string | null | undefined }) {
  const status = useBudgetStatus(budget);
  const amount = status && pick(status);
  return amount === undefined || amount === null ? '–' : <Money amount={amount} currency={budget.currency} />;
}

function WindowEnd({ budget }: { readonly budget: Budget }) {
  const status = useBudgetStatus(budget);
  return status && <Time at={status.window_end} />;
}

const tones = { ok: 'good', warning: 'warn', exceeded: 'bad' } as const;

function BudgetState({ budget }: { readonly budget: Budget }) {
  const status = useBudgetStatus(budget);
  if (status === undefined) return '…';
  const word = status.is_enforced ? u.decisions[status.decision] : u.counted;
  return (
    <>
      <StateWord tone={tones[status.level]} text={word} />
      <BudgetMeter status={status} />
    </>
  );
}

function BudgetActions({ budget, name }: { readonly budget: Budget; readonly name: string }) {
  const queries = useQueryClient();
  const { workspace_id, period } = budget;
  return (
    <div className="actions">
      <EditBudget budget={budget} name={name} />
      <ActionDialog
        label={u.deleteBudget}
        title={u.deleteBudgetTitle}
        submit={u.deleteSubmit}
        tone="danger"
        content={{ workspace_id, period }}
        write={(content) => api.deleteBudget(content)}
        onDone={() => void queries.invalidateQueries({ queryKey: ['budgets'] })}
      >
        <p>{u.deleteBudgetText}</p>
      </ActionDialog>
    </div>
  );
}
