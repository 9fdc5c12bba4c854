import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { useTitle } from '../app/card-page.tsx';
import { playgroundRoute } from './routes.ts';
import { t } from '../messages/en.ts';
import { approvalTexts } from '../approvals/messages.ts';
import { isRunLive } from '../runs/run-filters.ts';
import { Transcript } from '../runs/transcript.tsx';
import { useTimeline } from '../runs/use-timeline.ts';
import { Choice } from '../ui/choice.tsx';
import { Fault } from '../ui/notice.tsx';
import { Status } from '../ui/status.tsx';
import { parseConversation, type Conversation } from './conversation.ts';
import { t as own } from './messages.ts';
import styles from './playground.module.css';
import { Say } from './say.tsx';

const pollMs = 5_000;
const turnsShown = 10;

/** A conversation with an agent. */
export function PlaygroundPage() {
  useTitle(own.title);
  const { workspaceId } = playgroundRoute.useParams();
  const conversation = playgroundRoute.useSearch();
  const navigate = useNavigate();
  const agents = useQuery({
    queryKey: ['agents', 'active'],
    queryFn: ({ signal }) => api.listAgents({ is_active: true, limit: 200 }, { signal }),
    staleTime: 60_000,
  });
  const usable = (agents.data?.items ?? []).filter(
    ({ active_revision_id, workspace_id }) => active_revision_id !== null && (workspace_id === null || workspace_id === workspaceId),
  );
  const agentId = conversation.agent ?? usable[0]?.id ?? '';
  const personas = useQuery({
    queryKey: ['personas', agentId],
    queryFn: ({ signal }) => api.listPersonas({ agent_id: agentId, limit: 200 }, { signal }),
    enabled: agentId !== '',
    staleTime: 60_000,
  });
  const revisions = useQuery({
    queryKey: ['revisions', agentId],
    queryFn: ({ signal }) => api.listAgentRevisions({ agent_id: agentId, limit: 50 }, { signal }),
    enabled: agentId !== '',
    staleTime: 60_000,
  });
  const go = (search: Conversation) => navigate({ to: '/w/$workspaceId/playground', params: { workspaceId }, search, replace: true });
  const choices = (personas.data?.items ?? []).filter(({ is_active }) => is_active);

  return (
    <div className={styles.page}>
      <div className={styles.top}>
        <h1>{own.title}</h1>
        {conversation.session !== undefined && (
          <Button onPress={() => void go({ agent: agentId, ...(conversation.persona && { persona: conversation.persona }) })}>
            {own.fresh}
          </Button>
        )}
      </div>
      {agents.error !== null && <Fault error={agents.error} onRetry={() => void agents.refetch()} />}
      {agents.data !== undefined && usable.length === 0 && <p className="hint">{own.noAgents}</p>}
      {usable.length > 0 && (
        <div className={styles.choices}>
          <Choice
            label={own.agent}
            value={agentId}
            options={usable.map(({ id, name }) => ({ id, label: name }))}
            onChange={(agent) => void go({ agent })}
          />
          {choices.length > 0 && (
            <Choice
              label={own.persona}
              value={conversation.persona ?? ''}
              options={[{ id: '', label: own.noPersona }, ...choices.map(({ slug, name }) => ({ id: slug, label: name }))]}
              onChange={(persona) => void go(parseConversation({ ...conversation, persona }))}
            />
          )}
          {(revisions.data?.items ?? []).length > 1 && (
            <Choice
              label={own.revision}
              value={conversation.revision ?? ''}
              options={[
                { id: '', label: own.activeRevision },
                ...(revisions.data?.items ?? []).map(({ id, number, note }) => ({
                  id,
                  label: own.revisionNumber(number, note?.slice(0, 60) ?? ''),
                })),
              ]}
              onChange={(revision) => void go(parseConversation({ ...conversation, agent: agentId, revision }))}
            />
          )}
        </div>
      )}
      {agentId !== '' && (
        <Talk
          key={`${agentId} ${conversation.session}`}
          workspaceId={workspaceId}
          conversation={{ ...conversation, agent: agentId }}
          onBegun={(session) => go({ ...conversation, agent: agentId, session })}
        />
      )}
    </div>
  );
}

interface TalkProps {
  readonly workspaceId: string;
  readonly conversation: Conversation & { readonly agent: string };
  /** The first message names the conversation. */
  readonly onBegun: (session: string) => Promise<void>;
}

function Talk({ workspaceId, conversation, onBegun }: TalkProps) {
  const { agent, session } = conversation;
  const mayStart = useMay('member');
  const runs = useQuery({
    queryKey: ['playground', agent, session],
    queryFn: ({ signal }) =>
      api.listRuns({ agent_id: agent, session_key: session, workspace_id: workspaceId, limit: turnsShown }, { signal }),
    enabled: session !== undefined,
    refetchInterval: pollMs,
  });
  const turns = (runs.data?.items ?? []).toReversed();
  const live = turns.find(({ status }) => isRunLive(status));
  return (
    <>
      {session === undefined && <p className="hint">{own.empty}</p>}
      {runs.error !== null && <Fault error={runs.error} onRetry={() => void runs.refetch()} />}
      {turns.map(({ id }) => (
        <Turn key={id} runId={id} workspaceId={workspaceId} />
      ))}
      {mayStart && <Say workspaceId={workspaceId} conversation={conversation} liveRunId={live?.id ?? null} onBegun={onBegun} />}
    </>
  );
}

function Turn({ runId, workspaceId }: { readonly runId: string; readonly workspaceId: string }) {
  const { timeline, link } = useTimeline(runId);
  return (
    <section className={styles.turn} aria-label={t.runs.title}>
      <Transcript timeline={timeline} runId={runId} workspaceId={workspaceId} isLoading={link === 'connecting'} />
      <p className={styles.foot}>
        {timeline.status !== null && <Status status={timeline.status} />}
        <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId }}>
          {approvalTexts.openRun}
        </Link>
      </p>
    </section>
  );
}
