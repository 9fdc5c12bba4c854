import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { CreateAgent, ImportAgent } from './agent-forms.tsx';
import { agentTexts as a } from './messages.ts';
import { agentsRoute } from './routes.ts';

type Agent = Views['AgentView'];
type Filter = ReturnType<typeof agentsRoute.useSearch>;

const scopes = ['workspace', 'organization', 'platform'] as const;

/** All agents that can be seen from this workspace. */
export function AgentsPage() {
  const { workspaceId } = agentsRoute.useParams();
  const search = agentsRoute.useSearch();
  const navigate = useNavigate();
  const mayWrite = useMay('member');
  const scope = oneOf(scopes, search.scope);
  const list = usePagedList<Agent>({
    queryKey: ['agents', 'list', search],
    fetchPage: (cursor, signal) =>
      api.listAgents(
        {
          cursor,
          limit: 50,
          ...(search.q !== undefined && { q: search.q }),
          ...(scope !== undefined && { scope }),
          ...(search.active !== undefined && { is_active: search.active === 'true' }),
        },
        { signal },
      ),
  });
  const set = (name: keyof Filter, value: string) =>
    void navigate({
      to: '/w/$workspaceId/agents',
      params: { workspaceId },
      search: { ...search, [name]: value || undefined },
      replace: true,
    });
  return (
    <Page
      title={a.agents}
      actions={
        mayWrite && (
          <>
            <CreateAgent workspaceId={workspaceId} />
            <ImportAgent workspaceId={workspaceId} />
          </>
        )
      }
    >
      <Filters label={a.filters}>
        <TypedFilter label={a.search} value={search.q ?? ''} onSettle={(value) => set('q', value)} />
        <Choice
          label={a.scope}
          value={search.scope ?? ''}
          options={[{ id: '', label: a.any }, ...scopes.map((id) => ({ id, label: a.scopes[id] ?? id }))]}
          onChange={(value) => set('scope', value)}
        />
        <Choice
          label={a.state}
          value={search.active ?? ''}
          options={[
            { id: '', label: a.any },
            { id: 'true', label: a.active },
            { id: 'false', label: a.inactive },
          ]}
          onChange={(value) => set('active', value)}
        />
      </Filters>
      {list.rows.length > 0 && <Table label={a.agents} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={Object.keys(search).length > 0} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Agent>[] {
  const { columns } = a;
  return [
    {
      id: 'name',
      title: columns.name,
      cell: ({ id, name }) => (
        <Link to="/w/$workspaceId/agents/$agentId" params={{ workspaceId, agentId: id }}>
          {name}
        </Link>
      ),
    },
    { id: 'slug', title: columns.slug, cell: ({ slug }) => <code>{slug}</code> },
    { id: 'scope', title: columns.scope, cell: ({ scope }) => a.scopes[scope] ?? scope },
    { id: 'state', title: columns.state, cell: (agent) => <AgentState agent={agent} /> },
    { id: 'changed', title: columns.changed, cell: ({ updated_at }) => <Time at={updated_at} /> },
  ];
}

export function AgentState({ agent }: { readonly agent: Pick<Agent, 'is_active' | 'active_revision_id'> }) {
  if (!agent.is_active) return <StateWord tone="idle" text={a.inactive} />;
  return agent.active_revision_id === null ? <StateWord tone="warn" text={a.notRunnable} /> : <StateWord tone="good" text={a.active} />;
}
