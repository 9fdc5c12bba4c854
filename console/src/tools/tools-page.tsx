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
import { TypedFilter } from '../ui/typed-filter.tsx';
import { toolTexts as x } from './messages.ts';
import { toolsRoute } from './routes.ts';
import { CreateTool } from './tool-forms.tsx';

type Tool = Views['ToolView'];
type Filter = ReturnType<typeof toolsRoute.useSearch>;

const kinds = ['http', 'remote_protocol', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule'] as const;
const effects = ['read', 'write'] as const;

/** The tools that agents of this workspace may be given. */
export function ToolsPage() {
  const { workspaceId } = toolsRoute.useParams();
  const search = toolsRoute.useSearch();
  const navigate = useNavigate();
  const isAdmin = useMay('admin');
  const kind = oneOf(kinds, search.kind);
  const effect = oneOf(effects, search.effect);
  const list = usePagedList<Tool>({
    queryKey: ['tools', 'list', search],
    fetchPage: (cursor, signal) =>
      api.listTools(
        { cursor, limit: 50, ...(search.q !== undefined && { q: search.q }), ...(kind && { kind }), ...(effect && { effect }) },
        { signal },
      ),
  });
  const set = (name: keyof Filter, value: string) =>
    void navigate({
      to: '/w/$workspaceId/tools',
      params: { workspaceId },
      search: { ...search, [name]: value || undefined },
      replace: true,
    });
  return (
    <Page title={x.tools} actions={isAdmin && <CreateTool workspaceId={workspaceId} />}>
      <Filters label={x.filters}>
        <TypedFilter label={x.search} value={search.q ?? ''} onSettle={(value) => set('q', value)} />
        <Choice
          label={x.kind}
          value={search.kind ?? ''}
          options={[{ id: '', label: x.any }, ...kinds.map((id) => ({ id, label: x.kinds[id] ?? id }))]}
          onChange={(value) => set('kind', value)}
        />
        <Choice
          label={x.effect}
          value={search.effect ?? ''}
          options={[{ id: '', label: x.any }, ...effects.map((id) => ({ id, label: x.effects[id] ?? id }))]}
          onChange={(value) => set('effect', value)}
        />
      </Filters>
      {list.rows.length > 0 && <Table label={x.tools} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={Object.keys(search).length > 0} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Tool>[] {
  const { columns } = x;
  return [
    {
      id: 'name',
      title: columns.name,
      cell: ({ id, slug, display_name }) => (
        <Link to="/w/$workspaceId/tools/$toolId" params={{ workspaceId, toolId: id }}>
          {display_name ?? slug}
        </Link>
      ),
    },
    { id: 'slug', title: columns.slug, cell: ({ slug }) => <code>{slug}</code> },
    { id: 'kind', title: columns.kind, cell: ({ kind }) => x.kinds[kind] ?? kind },
    { id: 'effect', title: columns.effect, cell: ({ effect }) => x.effects[effect] ?? effect },
    { id: 'state', title: columns.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
  ];
}

export function ActiveState({ isActive }: { readonly isActive: boolean }) {
  return <StateWord tone={isActive ? 'good' : 'idle'} text={isActive ? x.active : x.inactive} />;
}
