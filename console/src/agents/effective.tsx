import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { LongText } from '../ui/json.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Facts, Section } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { agentTexts as a } from './messages.ts';

type Tool = Views['EffectiveTool'];

const { effective: e } = a;
const columns: Column<Tool>[] = [
  { id: 'name', title: e.toolColumns.name, cell: ({ name }) => <code>{name}</code> },
  { id: 'kind', title: e.toolColumns.kind, cell: ({ kind }) => kind },
  { id: 'effect', title: e.toolColumns.effect, cell: ({ effect }) => effect },
  {
    id: 'approval',
    title: e.toolColumns.approval,
    cell: ({ approval }) => (approval.required ? e.approvalBy(approval.floor) : e.noApproval),
  },
];

/** What a run of a revision gets, with a persona or without. */
export function Effective({ agentId, revisionId }: { readonly agentId: string; readonly revisionId: string }) {
  const [persona, setPersona] = useState('');
  const personas = useQuery({
    queryKey: ['agents', agentId, 'personas', 'names'],
    queryFn: ({ signal }) => api.listPersonas({ agent_id: agentId, limit: 200 }, { signal }),
    staleTime: 60_000,
  });
  const found = useQuery({
    queryKey: ['agents', agentId, 'effective', revisionId, persona],
    queryFn: ({ signal }) =>
      api.getEffectiveAgent({ agent_id: agentId, revision_id: revisionId, ...(persona !== '' && { persona_slug: persona }) }, { signal }),
    staleTime: 30_000,
  });
  const names = personas.data?.items ?? [];
  return (
    <Section title={e.title}>
      {names.length > 0 && (
        <Choice
          label={e.persona}
          value={persona}
          options={[{ id: '', label: e.noPersona }, ...names.map(({ slug, name }) => ({ id: slug, label: name }))]}
          onChange={setPersona}
        />
      )}
      {found.error !== null && <Fault error={found.error} onRetry={() => void found.refetch()} />}
      {found.data !== undefined && <Resolved agent={found.data} />}
    </Section>
  );
}

function Resolved({ agent }: { readonly agent: Views['EffectiveAgentView'] }) {
  const listed = (names: readonly string[]) => (names.length === 0 ? e.nothing : names.join(', '));
  return (
    <>
      {agent.warnings.length > 0 && (
        <Notice tone="warn" text={e.warnings} detail={agent.warnings.map(({ pointer, message }) => `${pointer} ${message}`)} />
      )}
      <Facts
        facts={[
          [e.model, agent.model?.id ?? e.nothing],
          [e.skills, listed(agent.skills.map(({ slug }) => slug))],
          [e.subAgents, listed(agent.sub_agents.map(({ slug }) => slug))],
          [e.knowledge, String(agent.knowledge.length)],
        ]}
      />
      <LongText text={agent.instructions} label={e.instructions} />
      {agent.tools.length > 0 && <Table label={e.tools} columns={columns} rows={agent.tools} keyOf={({ name }) => name} />}
    </>
  );
}
