import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { CreateTool } from './create-tool.tsx';
import { toolTexts as o } from './messages.ts';
import { toolsRoute } from './routes.ts';

type Tool = Views['ToolView'];

/** The tools that the workspace sees. */
export function ToolsPage() {
  const { workspaceId } = toolsRoute.useParams();
  const { q, toolkit_id } = toolsRoute.useSearch();
  const navigate = useNavigate({ from: toolsRoute.fullPath });
  const mayWrite = useMay('admin');
  const list = usePagedList<Tool>({
    queryKey: ['tools', q, toolkit_id],
    fetchPage: (cursor, signal) => api.listTools({ q, toolkit_id, cursor, limit: 50 }, { signal }),
  });
  return (
    <Page title={o.tools} actions={mayWrite && <CreateTool workspaceId={workspaceId} />}>
      <Filters label={o.filters}>
        <TypedFilter
          label={o.search}
          value={q ?? ''}
          onSettle={(text) => void navigate({ search: (now) => ({ ...now, q: text || undefined }) })}
        />
      </Filters>
      {list.rows.length > 0 && <Table label={o.tools} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={q !== undefined || toolkit_id !== undefined} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Tool>[] {
  return [
    {
      id: 'slug',
      title: o.columns.slug,
      cell: ({ id, slug }) => (
        <Link to="/w/$workspaceId/tools/$toolId" params={{ workspaceId, toolId: id }}>
          {slug}
        </Link>
      ),
    },
    { id: 'kind', title: o.columns.kind, cell: ({ kind }) => o.kinds[kind] ?? kind },
    { id: 'effect', title: o.columns.effect, cell: ({ effect, critical }) => (critical ? `${effect}, ${o.critical}` : effect) },
    { id: 'state', title: o.columns.state, cell: ({ is_active }) => (is_active ? o.active : o.inactive) },
    { id: 'updated', title: o.columns.updated, cell: ({ updated_at }) => <Time at={updated_at} /> },
  ];
}
