import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import type { Version } from '../ui/edit-state.ts';
import { Fault } from '../ui/notice.tsx';
import { Page } from '../ui/page.tsx';
import { oneOf } from '../ui/search.ts';
import { CloneAgent, DeleteAgent, ExportAgent } from './agent-dialogs.tsx';
import { agentQuery } from './agent-queries.ts';
import { AgentSettings } from './agent-settings.tsx';
import { stateOf } from './agents-page.tsx';
import { Draft } from './draft.tsx';
import { Effective } from './effective.tsx';
import { agentTexts as a } from './messages.ts';
import { Personas } from './personas.tsx';
import { Revisions } from './revisions.tsx';
import { agentRoute } from './routes.ts';
import type { Views } from '../app/api.ts';

const parts = ['settings', 'draft', 'revisions', 'personas', 'effective'] as const;

/** One agent, part by part. */
export function AgentPage() {
  const { agentId, workspaceId } = agentRoute.useParams();
  const search = agentRoute.useSearch();
  const mayWrite = useMay('member');
  const mayDelete = useMay('admin');
  const agent = useQuery(agentQuery(agentId));
  if (agent.error instanceof ApiError && agent.error.status === 404) return <NotFound />;
  if (agent.data === undefined)
    return agent.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={agent.error} onRetry={() => void agent.refetch()} />
    );
  const shown = parts.filter((part) => mayWrite || (part !== 'draft' && part !== 'effective'));
  const part = oneOf(shown, search.part) ?? 'settings';
  const { value } = agent.data;
  return (
    <Page title={value.name} actions={<span className="hint">{stateOf(value)}</span>}>
      <div className="actions">
        <Link to="/w/$workspaceId/playground" params={{ workspaceId }} search={{ agent: agentId }}>
          {a.talk}
        </Link>
        {mayWrite && <ExportAgent agent={value} />}
        {mayWrite && <CloneAgent agent={value} workspaceId={workspaceId} />}
        {mayDelete && <DeleteAgent agent={value} workspaceId={workspaceId} />}
      </div>
      <nav aria-label={a.partsLabel} className="actions">
        {shown.map((one) => (
          <Link
            key={one}
            to="/w/$workspaceId/agents/$agentId"
            params={{ workspaceId, agentId }}
            search={{ part: one }}
            aria-current={one === part ? 'page' : undefined}
          >
            {a.parts[one]}
          </Link>
        ))}
      </nav>
      <Part key={agentId} part={part} agent={agent.data} />
    </Page>
  );
}

function Part({ part, agent }: { readonly part: (typeof parts)[number]; readonly agent: Version<Views['AgentView']> }) {
  switch (part) {
    case 'settings':
      return <AgentSettings agent={agent} />;
    case 'draft':
      return <Draft agentId={agent.value.id} />;
    case 'revisions':
      return <Revisions agent={agent} />;
    case 'personas':
      return <Personas agentId={agent.value.id} />;
    case 'effective':
      return <Effective agentId={agent.value.id} />;
    default:
      return part satisfies never;
  }
}
