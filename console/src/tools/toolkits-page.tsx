import { Link } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { toolTexts as x } from './messages.ts';
import { toolkitsRoute } from './routes.ts';
import { CreateToolkit } from './toolkit-forms.tsx';
import { ActiveState } from './tools-page.tsx';

type Toolkit = Views['ToolkitView'];

/** Groups of tools that come from a server, a document or a list written by hand. */
export function ToolkitsPage() {
  const { workspaceId } = toolkitsRoute.useParams();
  const isAdmin = useMay('admin');
  const list = usePagedList<Toolkit>({
    queryKey: ['toolkits', 'list'],
    fetchPage: (cursor, signal) => api.listToolkits({ cursor, limit: 50 }, { signal }),
  });
  return (
    <Page title={x.toolkits} actions={isAdmin && <CreateToolkit workspaceId={workspaceId} />}>
      {list.rows.length > 0 && <Table label={x.toolkits} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Toolkit>[] {
  const { columns } = x;
  return [
    {
      id: 'name',
      title: columns.name,
      cell: ({ id, name }) => (
        <Link to="/w/$workspaceId/toolkits/$toolkitId" params={{ workspaceId, toolkitId: id }}>
          {name}
        </Link>
      ),
    },
    { id: 'slug', title: columns.slug, cell: ({ slug }) => <code>{slug}</code> },
    { id: 'kind', title: columns.kind, cell: ({ kind }) => x.kinds[kind] ?? kind },
    { id: 'tools', title: columns.tools, align: 'end', cell: ({ tool_count }) => tool_count },
    { id: 'waiting', title: columns.waiting, align: 'end', cell: ({ quarantined_count }) => quarantined_count },
    { id: 'state', title: columns.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
  ];
}
