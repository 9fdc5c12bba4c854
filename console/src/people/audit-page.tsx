import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormFields } from '../ui/form-fields.tsx';
import { useLiveList } from '../ui/live-list.ts';
import { Filters, ListNotice, MoreRows, Page } from '../ui/page.tsx';
import { oneOf } from '../ui/search.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { peopleTexts as p } from './messages.ts';
import { auditRoute } from './routes.ts';

type Entry = Views['AuditEntryView'];

const actions = ['create', 'update', 'delete', 'login', 'logout', 'submit', 'approve', 'purge', 'impersonate'] as const;

/** Who did what, newest first. */
export function AuditPage() {
  const { workspaceId } = auditRoute.useParams();
  const search = auditRoute.useSearch();
  const navigate = useNavigate();
  const key = JSON.stringify(search);
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) => {
      const { action, from, to, ...rest } = JSON.parse(key) as typeof search;
      const known = oneOf(actions, action);
      const at = (day: string) => new Date(`${day}T00:00:00`).toISOString();
      return api.listAuditEntries(
        { ...rest, ...(known && { action: known }), ...(from && { from: at(from) }), ...(to && { to: at(to) }), cursor, limit: 50 },
        { signal },
      );
    },
    [key],
  );
  const list = useLiveList<Entry>({ queryKey: ['audit', search], fetchPage });
  const set = (name: string, value: string) =>
    void navigate({
      to: '/w/$workspaceId/audit-log',
      params: { workspaceId },
      search: { ...search, [name]: value || undefined },
      replace: true,
    });
  return (
    <Page title={p.audit} actions={list.freshCount > 0 && <Button onPress={list.showFresh}>{t.list.fresh(list.freshCount)}</Button>}>
      <Filters label={p.filters}>
        <Choice
          label={p.action}
          value={oneOf(actions, search.action) ?? ''}
          options={[{ id: '', label: p.any }, ...actions.map((id) => ({ id, label: id }))]}
          onChange={(value) => set('action', value)}
        />
        <TypedFilter label={p.resourceType} value={search.resource_type ?? ''} onSettle={(value) => set('resource_type', value)} />
        <TypedFilter label={p.actor} value={search.actor_id ?? ''} onSettle={(value) => set('actor_id', value)} />
        <FormFields
          fields={[
            { kind: 'day', name: 'from', label: p.from },
            { kind: 'day', name: 'to', label: p.to },
          ]}
          values={{ from: search.from ?? '', to: search.to ?? '' }}
          errors={{}}
          onChange={set}
        />
      </Filters>
      <ListNotice list={list} isFiltered />
      {list.rows.length > 0 && <Table label={p.audit} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <MoreRows list={list} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Entry>[] {
  const { entry } = p;
  return [
    { id: 'at', title: entry.at, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      id: 'who',
      title: entry.who,
      cell: (row) => `${row.actor_kind.replaceAll('_', ' ')}${row.actor_role === null ? '' : `, ${row.actor_role}`}`,
    },
    {
      id: 'action',
      title: entry.action,
      cell: ({ id, action, resource_type }) => (
        <Link to="/w/$workspaceId/audit-log/$entryId" params={{ workspaceId, entryId: id }}>
          {p.entryTitle(action, resource_type)}
        </Link>
      ),
    },
    { id: 'what', title: entry.what, cell: ({ resource_label, resource_id }) => resource_label ?? resource_id },
    {
      id: 'outcome',
      title: entry.outcome,
      cell: ({ outcome }) => <StateWord tone={outcome === 'success' ? 'good' : 'bad'} text={outcome} />,
    },
  ];
}
