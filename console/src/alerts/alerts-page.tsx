import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { useLiveList } from '../ui/live-list.ts';
import { Filters, ListNotice, MoreRows, Page } from '../ui/page.tsx';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { AlertState } from './alert-state.tsx';
import { alertTexts as a } from './messages.ts';
import { alertsRoute } from './routes.ts';

type Alert = Views['AlertView'];

const statuses = ['firing', 'no_data', 'resolved'] as const;
const severities = ['warning', 'critical'] as const;

/** What has fired, newest first. */
export function AlertsPage() {
  const { workspaceId } = alertsRoute.useParams();
  const search = alertsRoute.useSearch();
  const navigate = useNavigate();
  const status = oneOf(statuses, search.status);
  const severity = oneOf(severities, search.severity);
  const { rule_id } = search;
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listAlerts(
        { ...(status && { status }), ...(severity && { severity }), ...(rule_id && { rule_id }), cursor, limit: 50 },
        { signal },
      ),
    [status, severity, rule_id],
  );
  const list = useLiveList<Alert>({ queryKey: ['alerts', search], fetchPage });
  const set = (name: keyof typeof search, value: string) =>
    void navigate({
      to: '/w/$workspaceId/alerts',
      params: { workspaceId },
      search: { ...search, [name]: value || undefined },
      replace: true,
    });
  const option = (id: string) => ({ id, label: id.replaceAll('_', ' ') });
  return (
    <Page
      title={a.alerts}
      actions={
        <>
          {list.freshCount > 0 && <Button onPress={list.showFresh}>{t.list.fresh(list.freshCount)}</Button>}
          <Link to="/w/$workspaceId/alert-rules" params={{ workspaceId }}>
            {a.toRules}
          </Link>
        </>
      }
    >
      <Filters label={a.filters}>
        <Choice
          label={a.status}
          value={status ?? ''}
          options={[{ id: '', label: a.any }, ...statuses.map(option)]}
          onChange={(value) => set('status', value)}
        />
        <Choice
          label={a.severity}
          value={severity ?? ''}
          options={[{ id: '', label: a.any }, ...severities.map(option)]}
          onChange={(value) => set('severity', value)}
        />
      </Filters>
      <ListNotice list={list} isFiltered={Object.keys(search).length > 0} />
      {list.rows.length > 0 && <Table label={a.alerts} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <MoreRows list={list} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Alert>[] {
  const { columns } = a;
  return [
    { id: 'status', title: columns.status, cell: ({ status }) => <AlertState state={status} /> },
    {
      id: 'title',
      title: columns.title,
      cell: ({ id, title }) => (
        <Link to="/w/$workspaceId/alerts/$alertId" params={{ workspaceId, alertId: id }}>
          {title}
        </Link>
      ),
    },
    { id: 'severity', title: columns.severity, cell: ({ severity }) => severity },
    { id: 'value', title: columns.value, align: 'end', cell: ({ value, threshold }) => `${value ?? '–'} / ${threshold ?? '–'}` },
    { id: 'opened', title: columns.opened, cell: ({ opened_at }) => <Time at={opened_at} /> },
    {
      id: 'note',
      title: columns.note,
      cell: ({ acknowledged_at, snoozed_until }) => (
        <>
          {acknowledged_at !== null && <span>{a.acknowledged} </span>}
          {snoozed_until !== null && (
            <span>
              {a.snoozed} <Time at={snoozed_until} />
            </span>
          )}
        </>
      ),
    },
  ];
}
