import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { useAgents } from '../app/use-agents.ts';
import { triggerTexts as x } from './messages.ts';
import { schedulesRoute } from './routes.ts';
import { AddSchedule } from './schedule-forms.tsx';
import { ActiveState } from './trigger-state.tsx';

/** What runs by the clock. */
export function SchedulesPage() {
  const { workspaceId } = schedulesRoute.useParams();
  const { q } = schedulesRoute.useSearch();
  const navigate = useNavigate();
  const { nameOf } = useAgents();
  const mayWrite = useMay('member');
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listSchedules({ ...(q !== undefined && { q }), cursor, limit: 50 }, { signal }),
    [q],
  );
  const list = usePagedList<Views['ScheduleView']>({ queryKey: ['schedules', q], fetchPage });
  return (
    <Page title={x.schedules} actions={mayWrite && <AddSchedule workspaceId={workspaceId} />}>
      <Filters label={x.filters}>
        <TypedFilter
          label={x.search}
          value={q ?? ''}
          onSettle={(value) =>
            void navigate({
              to: '/w/$workspaceId/schedules',
              params: { workspaceId },
              search: value === '' ? {} : { q: value },
              replace: true,
            })
          }
        />
      </Filters>
      {list.rows.length > 0 && (
        <Table label={x.schedules} columns={columnsFor(workspaceId, nameOf)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} isFiltered={q !== undefined} />
    </Page>
  );
}

function columnsFor(workspaceId: string, nameOf: (id: string) => string): Column<Views['ScheduleView']>[] {
  return [
    {
      id: 'name',
      title: x.name,
      cell: ({ id, name }) => (
        <Link to="/w/$workspaceId/schedules/$scheduleId" params={{ workspaceId, scheduleId: id }}>
          {name}
        </Link>
      ),
    },
    { id: 'when', title: x.when, cell: ({ description }) => description },
    { id: 'agent', title: x.agent, cell: ({ agent_id }) => nameOf(agent_id) },
    { id: 'state', title: x.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
    { id: 'next', title: x.next, cell: ({ next_run_at }) => next_run_at && <Time at={next_run_at} /> },
  ];
}
