import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '@longhaul/client';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Json } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, ListState, Page, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { toolTexts as x } from './messages.ts';
import { RevisionOfToolkit } from './revision-of-toolkit.tsx';
import { toolkitRoute } from './routes.ts';
import { DeleteToolkit, EditToolkit, NewRevision } from './toolkit-forms.tsx';
import { ActiveState } from './tools-page.tsx';

const { kit } = x;
type Revision = Views['ToolkitRevisionView'];

/** One toolkit: where its tools come from, how the newest revision differs, and the approval of it. */
export function ToolkitPage() {
  const { toolkitId, workspaceId } = toolkitRoute.useParams();
  const isAdmin = useMay('admin');
  const toolkit = useQuery({
    queryKey: ['toolkits', toolkitId],
    queryFn: ({ signal }) => api.getToolkit({ toolkit_id: toolkitId }, { signal }),
    refetchInterval: 5_000,
  });
  const revisions = usePagedList<Revision>({
    queryKey: ['toolkits', toolkitId, 'revisions'],
    fetchPage: (cursor, signal) => api.listToolkitRevisions({ toolkit_id: toolkitId, cursor, limit: 20 }, { signal }),
  });
  if (toolkit.error instanceof ApiError && toolkit.error.status === 404) return <NotFound />;
  if (toolkit.data === undefined)
    return toolkit.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={toolkit.error} onRetry={() => void toolkit.refetch()} />
    );
  const { name, slug, kind, description, config, tool_count, quarantined_count, is_active } = toolkit.data;
  const newest = revisions.rows[0];
  return (
    <Page title={name} actions={<ActiveState isActive={is_active} />}>
      <Facts
        facts={[
          [x.columns.slug, <code key="slug">{slug}</code>],
          [kit.source, x.kinds[kind] ?? kind],
          [x.facts.description, description],
          [x.columns.tools, String(tool_count)],
          [x.columns.waiting, String(quarantined_count)],
        ]}
      />
      {isAdmin && (
        <div className="actions">
          {kind === 'mcp' ? <Sync toolkitId={toolkitId} /> : <NewRevision toolkitId={toolkitId} kind={kind} />}
          <EditToolkit toolkitId={toolkitId} />
          <DeleteToolkit toolkitId={toolkitId} workspaceId={workspaceId} />
        </div>
      )}
      <Section title={kit.latest}>
        {newest === undefined ? <p className="hint">{kit.noRevision}</p> : <RevisionOfToolkit key={newest.id} revision={newest} />}
      </Section>
      <Section title={kit.revisions}>
        {revisions.rows.length > 0 && <Table label={kit.revisions} columns={columns} rows={revisions.rows} keyOf={({ id }) => id} />}
        <ListState list={revisions} />
      </Section>
      {kind === 'mcp' && <Status toolkitId={toolkitId} />}
      <Section title={x.config}>
        <Json value={config} label={x.config} />
      </Section>
    </Page>
  );
}

const columns: Column<Revision>[] = [
  { id: 'number', title: kit.revisions, cell: ({ number }) => kit.number(number) },
  { id: 'state', title: x.columns.state, cell: ({ state, error }) => `${kit.states[state] ?? state}${error === null ? '' : `: ${error}`}` },
  { id: 'at', title: x.facts.changed, cell: ({ created_at }) => <Time at={created_at} /> },
];

function Sync({ toolkitId }: { readonly toolkitId: string }) {
  const queries = useQueryClient();
  const { send, isBusy, error } = useIntent(async (content: { readonly toolkit_id: string }, options) => {
    await api.syncMcpToolkit(content, options);
    await queries.invalidateQueries({ queryKey: ['toolkits', toolkitId] });
  });
  return (
    <>
      <Button isPending={isBusy} onPress={() => void send({ toolkit_id: toolkitId })}>
        {kit.sync}
      </Button>
      {error !== null && <Fault error={error} />}
    </>
  );
}

/** How the server of a toolkit is doing, as the API tells it. */
function Status({ toolkitId }: { readonly toolkitId: string }) {
  const status = useQuery({
    queryKey: ['toolkits', toolkitId, 'status'],
    queryFn: ({ signal }) => api.getMcpToolkitStatus({ toolkit_id: toolkitId }, { signal }),
    refetchInterval: 5_000,
  });
  return (
    <Section title={kit.server}>
      {status.error !== null && <Fault error={status.error} onRetry={() => void status.refetch()} />}
      {status.data !== undefined && <Json value={status.data} label={kit.server} />}
    </Section>
  );
}
