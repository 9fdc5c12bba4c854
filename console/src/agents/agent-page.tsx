import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiError } from '@longhaul/client';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, ListState, Page, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { saveFile } from '../ui/save-file.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { CloneAgent, DeleteAgent, EditAgent } from './agent-forms.tsx';
import { AgentState } from './agents-page.tsx';
import { Personas } from './personas.tsx';
import { agentTexts as a } from './messages.ts';
import { agentRoute } from './routes.ts';

type Agent = Views['AgentView'];
type Revision = Views['AgentRevisionView'];

/** One agent: what it is, its revisions and personas, and what can be done with it. */
export function AgentPage() {
  const { agentId, workspaceId } = agentRoute.useParams();
  const isMember = useMay('member');
  const isAdmin = useMay('admin');
  const agent = useQuery({
    queryKey: ['agents', agentId],
    queryFn: ({ signal }) => api.getAgent({ agent_id: agentId }, { signal }),
    refetchInterval: 5_000,
  });
  if (agent.error instanceof ApiError && agent.error.status === 404) return <NotFound />;
  if (agent.data === undefined)
    return agent.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={agent.error} onRetry={() => void agent.refetch()} />
    );
  return (
    <Page title={agent.data.name} actions={<AgentState agent={agent.data} />}>
      <AgentFacts agent={agent.data} workspaceId={workspaceId} />
      {isMember && (
        <div className="actions">
          {agent.data.active_revision_id !== null && (
            <Link to="/w/$workspaceId/playground" params={{ workspaceId }} search={{ agent: agentId }}>
              {a.tryIt}
            </Link>
          )}
          <EditAgent agentId={agentId} />
          <CloneAgent agent={agent.data} workspaceId={workspaceId} />
          <ExportAgent agent={agent.data} />
          {isAdmin && <DeleteAgent agentId={agentId} workspaceId={workspaceId} />}
        </div>
      )}
      <Revisions agentId={agentId} workspaceId={workspaceId} mayWrite={isMember} />
      <Personas agentId={agentId} />
      <SubAgents agentId={agentId} workspaceId={workspaceId} />
    </Page>
  );
}

function AgentFacts({ agent, workspaceId }: { readonly agent: Agent; readonly workspaceId: string }) {
  const { facts } = a;
  const revision = agent.active_revision;
  return (
    <Facts
      facts={[
        [facts.slug, <code key="slug">{agent.slug}</code>],
        [facts.scope, a.scopes[agent.scope] ?? agent.scope],
        [facts.description, agent.description],
        [
          facts.revision,
          revision ? (
            <Link
              key="revision"
              to="/w/$workspaceId/agents/$agentId/revisions/$revisionId"
              params={{ workspaceId, agentId: agent.id, revisionId: revision.id }}
            >
              {a.revisions.number(revision.number)}
            </Link>
          ) : null,
        ],
        [facts.changed, <Time key="changed" at={agent.updated_at} />],
        [facts.created, <Time key="created" at={agent.created_at} />],
        [facts.id, <code key="id">{agent.id}</code>],
      ]}
    />
  );
}

function ExportAgent({ agent }: { readonly agent: Agent }) {
  const { send, isBusy, error } = useIntent(async (agentId: string) => {
    const exported = await api.exportAgent({ agent_id: agentId });
    saveFile(`${agent.slug}.json`, new Blob([JSON.stringify(exported, null, 2)], { type: 'application/json' }));
  });
  return (
    <>
      <Button isPending={isBusy} onPress={() => void send(agent.id)}>
        {a.export}
      </Button>
      {error !== null && <Fault error={error} />}
    </>
  );
}

interface RevisionsProps {
  readonly agentId: string;
  readonly workspaceId: string;
  readonly mayWrite: boolean;
}

function Revisions({ agentId, workspaceId, mayWrite }: RevisionsProps) {
  const { revisions: r } = a;
  const list = usePagedList<Revision>({
    queryKey: ['agents', agentId, 'revisions'],
    fetchPage: (cursor, signal) => api.listAgentRevisions({ agent_id: agentId, cursor, limit: 20 }, { signal }),
  });
  return (
    <Section
      title={r.title}
      actions={
        mayWrite && (
          <Link to="/w/$workspaceId/agents/$agentId/draft" params={{ workspaceId, agentId }}>
            {r.newDraft}
          </Link>
        )
      }
    >
      {list.rows.length > 0 && <Table label={r.title} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Section>
  );
}

function columnsFor(workspaceId: string): Column<Revision>[] {
  const { revisions: r } = a;
  return [
    {
      id: 'number',
      title: r.columns.number,
      cell: ({ id, agent_id, number }) => (
        <Link to="/w/$workspaceId/agents/$agentId/revisions/$revisionId" params={{ workspaceId, agentId: agent_id, revisionId: id }}>
          {r.number(number)}
        </Link>
      ),
    },
    { id: 'note', title: r.columns.note, cell: ({ note }) => note ?? '–' },
    { id: 'by', title: r.columns.by, cell: ({ created_by }) => r.by(created_by.kind, created_by.id) },
    { id: 'at', title: r.columns.at, cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'state', title: r.columns.state, cell: ({ is_active }) => (is_active ? <StateWord tone="good" text={r.active} /> : '–') },
  ];
}

function SubAgents({ agentId, workspaceId }: { readonly agentId: string; readonly workspaceId: string }) {
  const found = useQuery({
    queryKey: ['agents', agentId, 'available'],
    queryFn: ({ signal }) => api.listAvailableSubAgents({ agent_id: agentId }, { signal }),
    staleTime: 60_000,
  });
  return (
    <Section title={a.subAgents.title}>
      {found.error !== null && <Fault error={found.error} onRetry={() => void found.refetch()} />}
      {found.data?.items.length === 0 && <p className="hint">{a.subAgents.none}</p>}
      {found.data !== undefined && found.data.items.length > 0 && (
        <Table label={a.subAgents.title} columns={subAgentColumns(workspaceId)} rows={found.data.items} keyOf={({ id }) => id} />
      )}
    </Section>
  );
}

function subAgentColumns(workspaceId: string): Column<Views['AgentSummary']>[] {
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
    { id: 'slug', title: a.columns.slug, cell: ({ slug }) => <code>{slug}</code> },
    { id: 'description', title: a.facts.description, cell: ({ description }) => description ?? '–' },
  ];
}
