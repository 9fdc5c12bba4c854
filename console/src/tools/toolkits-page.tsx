import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Json } from '../ui/json.tsx';
import { readJson } from '../ui/read-json.ts';
import { ListState, Page, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { linesOf } from './create-tool.tsx';
import { toolTexts as o } from './messages.ts';
import { toolkitsRoute } from './routes.ts';

type Toolkit = Views['ToolkitView'];
const kinds = ['mcp', 'openapi', 'manual'] as const;

/** Groups of tools: MCP servers, OpenAPI documents, and those made by hand. */
export function ToolkitsPage() {
  const { workspaceId } = toolkitsRoute.useParams();
  const mayWrite = useMay('admin');
  const [found, setFound] = useState<Views['McpDiscoveryView'] | null>(null);
  const list = usePagedList<Toolkit>({
    queryKey: ['toolkits'],
    fetchPage: (cursor, signal) => api.listToolkits({ cursor, limit: 50 }, { signal }),
  });
  const actions = mayWrite && (
    <div className="actions">
      <CreateToolkit workspaceId={workspaceId} />
      <Discover onFound={setFound} />
    </div>
  );
  return (
    <Page title={o.toolkits} actions={actions}>
      {found !== null && (
        <Section title={o.discovered}>
          <Json value={found} label={o.discovered} />
        </Section>
      )}
      {list.rows.length > 0 && <Table label={o.toolkits} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Toolkit>[] {
  return [
    {
      id: 'name',
      title: o.kit.name,
      cell: ({ id, name }) => (
        <Link to="/w/$workspaceId/toolkits/$toolkitId" params={{ workspaceId, toolkitId: id }}>
          {name}
        </Link>
      ),
    },
    { id: 'kind', title: o.kit.kind, cell: ({ kind }) => o.kitKinds[kind] },
    { id: 'tools', title: o.kit.tools, align: 'end', cell: ({ tool_count }) => tool_count },
    { id: 'quarantined', title: o.kit.quarantined, align: 'end', cell: ({ quarantined_count }) => quarantined_count },
    { id: 'state', title: o.kit.state, cell: ({ is_active }) => (is_active ? o.active : o.inactive) },
  ];
}

function CreateToolkit({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog<Views['ToolkitCreate']>
      label={o.createKit}
      title={o.createKitTitle}
      submit={o.createSubmit}
      isPrimary
      fields={[
        { name: 'slug', label: o.ofKit.slug },
        { name: 'name', label: o.ofKit.name },
        { kind: 'area', name: 'description', label: o.ofKit.description },
        { kind: 'choice', name: 'kind', label: o.ofKit.kind, options: kinds.map((id) => ({ id, label: o.kitKinds[id] })) },
        { kind: 'area', name: 'config', label: o.ofKit.config, isMono: true, rows: 6 },
        { kind: 'area', name: 'secrets_required', label: o.ofKit.secrets_required },
      ]}
      initial={{ kind: 'mcp', config: '{\n  "url": "https://"\n}' }}
      toContent={({ slug = '', name = '', description = '', config = '', secrets_required = '', ...values }) => {
        const { value, problem } = readJson(config.trim() || '{}');
        const kind = oneOf(kinds, values['kind']);
        if (slug.trim() === '' || name.trim() === '' || kind === undefined || problem !== null) return null;
        return {
          slug: slug.trim(),
          name: name.trim(),
          description: description.trim() || null,
          kind,
          config: value,
          secrets_required: linesOf(secrets_required),
          workspace_id: workspaceId,
        } as Views['ToolkitCreate']; // the server checks the configuration by the kind
      }}
      write={(content, options) => api.createToolkit(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['toolkits'] })}
    />
  );
}

/** What an MCP server offers, before anything is made of it. */
function Discover({ onFound }: { readonly onFound: (found: Views['McpDiscoveryView']) => void }) {
  return (
    <FormDialog<Views['McpDiscover']>
      label={o.discover}
      title={o.discoverTitle}
      submit={o.discoverSubmit}
      fields={[
        { name: 'url', label: o.url },
        { kind: 'password', name: 'token', label: o.token },
      ]}
      toContent={({ url = '', token = '' }) => (url.trim() === '' ? null : { url: url.trim(), ...(token !== '' && { token }) })}
      write={async (content) => onFound(await api.discoverMcpServer(content))}
    />
  );
}
