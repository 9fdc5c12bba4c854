import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { useAgents } from '../app/use-agents.ts';
import { AddEndpoint } from './endpoint-forms.tsx';
import { triggerTexts as x } from './messages.ts';
import { endpointsRoute } from './routes.ts';
import { ActiveState } from './trigger-state.tsx';

const e = x.endpoint;

/** The addresses that other systems call. */
export function EndpointsPage() {
  const { workspaceId } = endpointsRoute.useParams();
  const { q } = endpointsRoute.useSearch();
  const navigate = useNavigate();
  const { nameOf } = useAgents();
  const mayWrite = useMay('admin');
  const [secret, setSecret] = useState<string | null>(null);
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listWebhookEndpoints({ ...(q !== undefined && { q }), cursor, limit: 50 }, { signal }),
    [q],
  );
  const list = usePagedList<Views['WebhookEndpointView']>({ queryKey: ['webhook-endpoints', q], fetchPage });
  return (
    <Page title={x.endpoints} actions={mayWrite && <AddEndpoint workspaceId={workspaceId} onSecret={setSecret} />}>
      <Filters label={x.filters}>
        <TypedFilter
          label={x.search}
          value={q ?? ''}
          onSettle={(value) =>
            void navigate({
              to: '/w/$workspaceId/webhook-endpoints',
              params: { workspaceId },
              search: value === '' ? {} : { q: value },
              replace: true,
            })
          }
        />
      </Filters>
      {list.rows.length > 0 && (
        <Table label={x.endpoints} columns={columnsFor(workspaceId, nameOf)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} isFiltered={q !== undefined} />
      <ShownOnce title={e.secret} secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

function columnsFor(workspaceId: string, nameOf: (id: string) => string): Column<Views['WebhookEndpointView']>[] {
  return [
    {
      id: 'slug',
      title: x.name,
      cell: ({ id, slug }) => (
        <Link to="/w/$workspaceId/webhook-endpoints/$endpointId" params={{ workspaceId, endpointId: id }}>
          {slug}
        </Link>
      ),
    },
    { id: 'agent', title: x.agent, cell: ({ agent_id }) => nameOf(agent_id) },
    { id: 'verification', title: e.verification, cell: ({ verification }) => e.verifications[verification] },
    { id: 'state', title: x.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
    { id: 'calls', title: e.calls, align: 'end', cell: ({ call_count }) => call_count },
  ];
}
