import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { ApiError, etagOf } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Choice } from '../ui/choice.tsx';
import { Json, LongText } from '../ui/json.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { Changes } from './changes.tsx';
import { Effective } from './effective.tsx';
import { agentTexts as a } from './messages.ts';
import { revisionRoute } from './routes.ts';

const { revisions: r } = a;

/** One revision: its document, how it differs from another, what a run would get of it, and its activation. */
export function RevisionPage() {
  const { agentId, revisionId, workspaceId } = revisionRoute.useParams();
  const isMember = useMay('member');
  const revision = useQuery({
    queryKey: ['agents', agentId, 'revisions', revisionId],
    queryFn: ({ signal }) => api.getAgentRevision({ agent_id: agentId, revision_id: revisionId }, { signal }),
    refetchInterval: 5_000,
  });
  if (revision.error instanceof ApiError && revision.error.status === 404) return <NotFound />;
  if (revision.data === undefined)
    return revision.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={revision.error} onRetry={() => void revision.refetch()} />
    );
  const { number, note, created_at, created_by, is_active, document } = revision.data;
  return (
    <Page
      title={r.number(number)}
      actions={
        <Link to="/w/$workspaceId/agents/$agentId" params={{ workspaceId, agentId }}>
          {a.agents}
        </Link>
      }
    >
      <Facts
        facts={[
          [r.columns.note, note],
          [r.columns.by, r.by(created_by.kind, created_by.id)],
          [r.columns.at, <Time key="at" at={created_at} />],
          [r.columns.state, is_active ? r.active : null],
        ]}
      />
      {isMember && (
        <div className="actions">
          <Activate agentId={agentId} revision={revision.data} />
          <Link to="/w/$workspaceId/agents/$agentId/draft" params={{ workspaceId, agentId }} search={{ from: revisionId }}>
            {r.editFrom}
          </Link>
        </div>
      )}
      <Differences />
      <Section title={r.document}>
        <LongText text={document?.instructions ?? ''} label={r.instructions} />
        <Json value={document ?? null} label={r.document} />
      </Section>
      {isMember && <Effective agentId={agentId} revisionId={revisionId} />}
    </Page>
  );
}

/** Activates with the version of the agent that was on screen: whoever was faster is not overwritten unseen. */
function Activate({ agentId, revision }: { readonly agentId: string; readonly revision: Views['AgentRevisionView'] }) {
  const queries = useQueryClient();
  const isAdmin = useMay('admin');
  const version = useQuery({
    queryKey: ['agents', agentId, 'version'],
    queryFn: async ({ signal }) => etagOf(await api.getAgent({ agent_id: agentId }, { signal })) ?? null,
  });
  if (!isAdmin) return <span className="hint">{r.onlyAdmins}</span>;
  const etag = version.data;
  return (
    <ActionDialog
      label={r.activate}
      title={r.activateTitle(revision.number)}
      submit={r.activateSubmit}
      disabledBecause={revision.is_active ? r.isActive : null}
      content={etag ? { agent_id: agentId, revision_id: revision.id, etag } : null}
      write={({ etag: ifMatch, ...content }, options) => api.activateAgentRevision(content, { ...options, ifMatch })}
      onDone={() => void queries.invalidateQueries({ queryKey: ['agents'] })}
    >
      <p>{r.activateText}</p>
    </ActionDialog>
  );
}

function Differences() {
  const { agentId, revisionId, workspaceId } = revisionRoute.useParams();
  const { against, ...search } = revisionRoute.useSearch();
  const navigate = useNavigate();
  const others = useQuery({
    queryKey: ['agents', agentId, 'revisions', 'all'],
    queryFn: ({ signal }) => api.listAgentRevisions({ agent_id: agentId, limit: 100 }, { signal }),
  });
  const revisions = others.data?.items ?? [];
  const mine = revisions.findIndex(({ id }) => id === revisionId);
  const base = against ?? revisions[mine + 1]?.id;
  const diff = useQuery({
    queryKey: ['agents', agentId, 'diff', revisionId, base],
    queryFn: ({ signal }) => api.diffAgentRevisions({ agent_id: agentId, revision_id: revisionId, against: base }, { signal }),
    enabled: base !== undefined && mine >= 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (revisions.length < 2) return null;
  return (
    <Section title={r.differences}>
      <Choice
        label={r.against}
        value={base ?? ''}
        options={revisions.filter(({ id }) => id !== revisionId).map(({ id, number }) => ({ id, label: r.number(number) }))}
        onChange={(id) =>
          void navigate({
            to: '/w/$workspaceId/agents/$agentId/revisions/$revisionId',
            params: { workspaceId, agentId, revisionId },
            search: { ...search, against: id },
            replace: true,
          })
        }
      />
      {diff.error !== null && <Fault error={diff.error} onRetry={() => void diff.refetch()} />}
      {diff.data !== undefined && <Changes changes={diff.data.changes} />}
      {diff.data?.instructions_diff && <LongText text={diff.data.instructions_diff} label={r.instructions} />}
      {diff.data?.truncated && <Notice tone="plain" text={r.truncated} />}
    </Section>
  );
}
