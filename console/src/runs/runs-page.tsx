import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { agentsQuery } from '../app/queries.ts';
import { runsRoute } from './routes.ts';
import { t } from '../messages/en.ts';
import { DataGrid, type Column } from '../ui/data-grid.tsx';
import { useLiveList } from '../ui/live-list.ts';
import { Money } from '../ui/money.tsx';
import { ListNotice, MoreRows, Page } from '../ui/page.tsx';
import { Status } from '../ui/status.tsx';
import { Duration, Time } from '../ui/time.tsx';
import { CancelRuns } from './cancel-runs.tsx';
import { FilterBar } from './filter-bar.tsx';
import type { RunFilters } from './run-filters.ts';
import styles from './runs.module.css';
import { StartBatch } from './start-batch.tsx';

type Run = Views['RunView'];

/** All runs that the filters let through, newest first, as they are now. */
export function RunsPage() {
  const { workspaceId } = runsRoute.useParams();
  const filters = runsRoute.useSearch();
  const mayStart = useMay('member');
  const mayCancel = useMay('admin');
  const navigate = useNavigate();
  const key = JSON.stringify(filters);
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listRuns({ ...(JSON.parse(key) as RunFilters), workspace_id: workspaceId, cursor, limit: 50 }, { signal }),
    [key, workspaceId],
  );
  const list = useLiveList<Run>({ queryKey: ['runs', workspaceId, filters], fetchPage });
  const agents = useQuery(agentsQuery);
  const change = (next: RunFilters) => void navigate({ to: '/w/$workspaceId/runs', params: { workspaceId }, search: next, replace: true });

  return (
    <Page
      title={t.runs.title}
      actions={
        <>
          {mayStart && <StartBatch workspaceId={workspaceId} agents={agents.data?.items ?? []} />}
          {mayCancel && <CancelRuns workspaceId={workspaceId} filters={filters} />}
          {list.freshCount > 0 && <Button onPress={list.showFresh}>{t.list.fresh(list.freshCount)}</Button>}
        </>
      }
    >
      <FilterBar filters={filters} agents={agents.data?.items ?? []} onChange={change} />
      <ListNotice list={list} isFiltered={Object.keys(filters).length > 0} />
      {list.rows.length > 0 && (
        <DataGrid label={t.runs.tableLabel} columns={columnsFor(workspaceId)} rows={list.rows} className={styles.columns} />
      )}
      <MoreRows list={list} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Run>[] {
  const { columns } = t.runs;
  return [
    { id: 'status', title: columns.status, cell: (run) => <RunStatusCell run={run} /> },
    {
      id: 'input',
      title: columns.input,
      cell: (run) => (
        <Link data-row="" to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: run.id }}>
          {run.input.text ?? t.runs.noText}
        </Link>
      ),
    },
    { id: 'agent', title: columns.agent, cell: (run) => run.agent_slug },
    { id: 'started', title: columns.started, cell: (run) => <Time at={run.created_at} /> },
    {
      id: 'duration',
      title: columns.duration,
      align: 'end',
      cell: (run) => <Duration from={run.started_at ?? run.created_at} to={run.finished_at} />,
    },
    { id: 'steps', title: columns.steps, align: 'end', cell: (run) => run.steps },
    {
      id: 'cost',
      title: columns.cost,
      align: 'end',
      cell: ({ usage: { subtree } }) => <Money amount={subtree.cost_amount} currency={subtree.currency} />,
    },
  ];
}

function RunStatusCell({ run }: { readonly run: Run }) {
  return (
    <>
      <Status status={run.status} />
      {run.waiting_on !== null && <span className="hint"> {t.waitingOn[run.waiting_on] ?? run.waiting_on}</span>}
    </>
  );
}
