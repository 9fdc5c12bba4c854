import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Json, LongText } from '../ui/json.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Facts, Filters, Section } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { agentTexts as a } from './messages.ts';
import { agentRoute } from './routes.ts';

type Tool = Views['EffectiveTool'];

const columns: Column<Tool>[] = [
  { id: 'name', title: a.tool.name, cell: ({ name }) => name },
  { id: 'kind', title: a.tool.kind, cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { id: 'effect', title: a.tool.effect, cell: ({ effect }) => effect },
  { id: 'approval', title: a.tool.approval, cell: ({ approval }) => (approval.required ? a.yes : a.no) },
  { id: 'missing', title: a.tool.missing, cell: ({ secrets_missing }) => secrets_missing.join(', ') },
];

/** What a run that began now would use, with everything resolved. */
export function Effective({ agentId }: { readonly agentId: string }) {
  const { revision, persona } = agentRoute.useSearch();
  const navigate = useNavigate({ from: agentRoute.fullPath });
  const asked = { agent_id: agentId, revision_id: revision, persona_slug: persona };
  const view = useQuery({
    queryKey: ['effective', asked],
    queryFn: ({ signal }) => api.getEffectiveAgent(asked, { signal }),
  });
  const revisions = useQuery({
    queryKey: ['agent', agentId, 'revision-choices'],
    queryFn: ({ signal }) => api.listAgentRevisions({ agent_id: agentId, limit: 100 }, { signal }),
  });
  const personas = useQuery({
    queryKey: ['agent', agentId, 'persona-choices'],
    queryFn: ({ signal }) => api.listPersonas({ agent_id: agentId, limit: 100 }, { signal }),
  });
  const choose = (change: { readonly revision?: string | undefined; readonly persona?: string | undefined }) =>
    void navigate({ search: (now) => ({ ...now, ...change }) });
  return (
    <>
      <Filters label={a.filters}>
        <Choice
          label={a.revision.number}
          value={revision ?? ''}
          options={[
            { id: '', label: a.anyRevision },
            ...(revisions.data?.items ?? []).map(({ id, number }) => ({ id, label: String(number) })),
          ]}
          onChange={(id) => choose({ revision: id || undefined })}
        />
        <Choice
          label={a.personaChoice}
          value={persona ?? ''}
          options={[{ id: '', label: a.noPersona }, ...(personas.data?.items ?? []).map(({ slug, name }) => ({ id: slug, label: name }))]}
          onChange={(slug) => choose({ persona: slug || undefined })}
        />
      </Filters>
      {view.error !== null && <Fault error={view.error} onRetry={() => void view.refetch()} />}
      {view.isPending && view.error === null && <p role="status">{t.list.loading}</p>}
      {view.data !== undefined && <Shown view={view.data} />}
    </>
  );
}

function Shown({ view }: { readonly view: Views['EffectiveAgentView'] }) {
  const { model, hash, instructions, tools, skills, sub_agents, knowledge, limits, warnings } = view;
  return (
    <>
      {warnings.length > 0 && (
        <Notice tone="warn" text={a.warnings} detail={warnings.map(({ pointer, message }) => a.problem('run', pointer, message))} />
      )}
      <Facts
        facts={[
          [a.model, model === null ? null : `${model.id} (${model.provider})`],
          [a.hash, hash],
        ]}
      />
      <Section title={a.instructions}>
        <LongText text={instructions} label={a.instructions} />
      </Section>
      {tools.length > 0 && (
        <Section title={a.doc.tools}>
          <Table label={a.doc.tools} columns={columns} rows={tools} keyOf={({ name }) => name} />
        </Section>
      )}
      <Section title={a.rest}>
        <Json value={{ skills, sub_agents, knowledge, limits }} label={a.rest} />
      </Section>
    </>
  );
}
