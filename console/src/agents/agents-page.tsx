import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { CreateAgent, ImportAgent } from './agent-dialogs.tsx';
import { agentTexts as a } from './messages.ts';
import { agentsRoute } from './routes.ts';

type Agent = Views['AgentView'];

/** The agents that the workspace sees. */
export function AgentsPage() {
  const { workspaceId } = agentsRoute.useParams();
  const { q } = agentsRoute.useSearch();
  const navigate = useNavigate({ from: agentsRoute.fullPath });
  const mayWrite = useMay('member');
  const list = usePagedList<Agent>({
    queryKey: ['agent-list', q],
    fetchPage: (cursor, signal) => api.listAgents({ q, cursor, limit: 50 }, { signal }),
  });
  return (
    <Page
      title={a.agents}
      actions={
        mayWrite && (
          <div className="actions">
            <CreateAgent workspaceId={workspaceId} />
            <ImportAgent workspaceId={workspaceId} />
          </div>
        )
      }
    >
      <Filters label={a.filters}>
        <TypedFilter label={a.search} value={q ?? ''} onSettle={(text) => void navigate({ search: text === '' ? {} : { q: text } })} />
      </Filters>
      {list.rows.length > 0 && <Table label={a.agents} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={q !== undefined} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Agent>[] {
  return [
    {
      id: 'name',
      title: a.columns.name,
      cell: ({ id, name }) => (
        <Link to="/w/$workspaceId/agents/$agentId" params={{ workspaceId, agentId: id }}>
          {name}
        </Link>
      ),
    },
    { id: 'slug', title: a.columns.slug, cell: ({ slug }) => slug },
    { id: 'state', title: a.columns.state, cell: stateOf },
    { id: 'scope', title: a.columns.scope, cell: ({ scope }) => scope },
    { id: 'updated', title: a.columns.updated, cell: ({ updated_at }) => <Time at={updated_at} /> },
  ];
}

export function stateOf({ is_active, active_revision_id }: Agent): string {
  if (!is_active) return a.inactive;
  return active_revision_id === null ? a.unpublished : a.active;
}
