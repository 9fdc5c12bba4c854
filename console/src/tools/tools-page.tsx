import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { CreateTool } from './create-tool.tsx';
import { toolTexts as o } from './messages.ts';
import { toolsRoute } from './routes.ts';

type Tool = Views['ToolView'];
const kinds = ['http', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule', 'remote_protocol'] as const;
const effects = ['read', 'write'] as const;
const any = { id: '', label: o.any } as const;
const weights = ['true', 'false'] as const;

/** The tools that the workspace sees. */
export function ToolsPage() {
  const { workspaceId } = toolsRoute.useParams();
  const { q, toolkit_id, ...search } = toolsRoute.useSearch();
  const kind = oneOf(kinds, search.kind);
  const effect = oneOf(effects, search.effect);
  const weight = oneOf(weights, search.critical);
  const navigate = useNavigate({ from: toolsRoute.fullPath });
  const mayWrite = useMay('admin');
  const list = usePagedList<Tool>({
    queryKey: ['tools', q, toolkit_id, kind, effect, weight],
    fetchPage: (cursor, signal) =>
      api.listTools(
        { q, toolkit_id, kind, effect, critical: weight === undefined ? undefined : weight === 'true', cursor, limit: 50 },
        { signal },
      ),
  });
  const filterBy = (change: { readonly [Name in 'q' | 'kind' | 'effect' | 'critical']?: string | undefined }) =>
    void navigate({ search: (now) => ({ ...now, ...change }) });
  return (
    <Page title={o.tools} actions={mayWrite && <CreateTool workspaceId={workspaceId} />}>
      <Filters label={o.filters}>
        <TypedFilter label={o.search} value={q ?? ''} onSettle={(text) => filterBy({ q: text || undefined })} />
        <Choice
          label={o.columns.kind}
          value={kind ?? ''}
          options={[any, ...kinds.map((id) => ({ id, label: o.kinds[id] ?? id }))]}
          onChange={(id) => filterBy({ kind: id || undefined })}
        />
        <Choice
          label={o.columns.effect}
          value={effect ?? ''}
          options={[any, ...effects.map((id) => ({ id, label: id }))]}
          onChange={(id) => filterBy({ effect: id || undefined })}
        />
        <Choice
          label={o.weight}
          value={weight ?? ''}
          options={[any, ...weights.map((id) => ({ id, label: o.weights[id] }))]}
          onChange={(id) => filterBy({ critical: id || undefined })}
        />
      </Filters>
      {list.rows.length > 0 && <Table label={o.tools} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={[q, toolkit_id, kind, effect, weight].some((one) => one !== undefined)} />
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
