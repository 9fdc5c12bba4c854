import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { readJson } from '../ui/read-json.ts';
import { Fault } from '../ui/notice.tsx';
import { saveFile } from '../ui/save-file.ts';
import { agentTexts as a } from './messages.ts';

type Agent = Views['AgentView'];

/** Leads to an agent that has just been made. */
function useArrival(workspaceId: string) {
  const made = useRef('');
  const navigate = useNavigate();
  return {
    keep: (agent: Agent) => {
      made.current = agent.id;
    },
    go: () =>
      void navigate({ to: '/w/$workspaceId/agents/$agentId', params: { workspaceId, agentId: made.current }, search: { part: 'draft' } }),
  };
}

const named = [
  { name: 'slug', label: a.fields.slug },
  { name: 'name', label: a.fields.name },
] as const;

export function CreateAgent({ workspaceId }: { readonly workspaceId: string }) {
  const arrival = useArrival(workspaceId);
  return (
    <FormDialog<Views['AgentCreate']>
      label={a.create}
      title={a.createTitle}
      submit={a.createSubmit}
      isPrimary
      fields={[...named, { kind: 'area', name: 'description', label: a.fields.description }]}
      toContent={({ slug = '', name = '', description = '' }) =>
        slug.trim() === '' || name.trim() === ''
          ? null
          : { slug: slug.trim(), name: name.trim(), description: description.trim() || null, workspace_id: workspaceId }
      }
      write={async (content, options) => arrival.keep(await api.createAgent(content, options))}
      onDone={arrival.go}
    />
  );
}

export function ImportAgent({ workspaceId }: { readonly workspaceId: string }) {
  const arrival = useArrival(workspaceId);
  return (
    <FormDialog<Views['AgentImport']>
      label={a.import}
      title={a.importTitle}
      submit={a.importSubmit}
      fields={[{ kind: 'area', name: 'document', label: a.fields.document, hint: a.importHint, isMono: true, rows: 12 }]}
      toContent={({ document = '' }) => {
        const { value } = readJson(document);
        // The server says what is wrong with it.
        return typeof value === 'object' && value !== null ? (value as Views['AgentImport']) : null;
      }}
      write={async (content, options) => arrival.keep(await api.importAgent(content, options))}
      onDone={arrival.go}
    />
  );
}

export function CloneAgent({ agent, workspaceId }: { readonly agent: Agent; readonly workspaceId: string }) {
  const arrival = useArrival(workspaceId);
  return (
    <FormDialog
      label={a.clone}
      title={a.cloneTitle}
      submit={a.cloneSubmit}
      fields={[...named, { kind: 'check', name: 'personas', label: a.fields.personas }]}
      initial={{ slug: `${agent.slug}-copy`, name: agent.name, personas: 'true' }}
      toContent={({ slug = '', name = '', personas }) =>
        slug.trim() === '' ? null : { slug: slug.trim(), name: name.trim() || null, include_personas: personas === 'true' }
      }
      write={async (content, options) => arrival.keep(await api.cloneAgent({ agent_id: agent.id, ...content }, options))}
      onDone={arrival.go}
    />
  );
}

export function DeleteAgent({ agent, workspaceId }: { readonly agent: Agent; readonly workspaceId: string }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <FormDialog
      label={a.delete}
      title={a.deleteTitle}
      submit={a.deleteSubmit}
      tone="danger"
      intro={<p>{a.deleteText}</p>}
      fields={[{ kind: 'check', name: 'force', label: a.fields.force }]}
      toContent={({ force }) => ({ agent_id: agent.id, ...(force === 'true' && { force: true }) })}
      write={(content) => api.deleteAgent(content)}
      onDone={() => {
        void queries.invalidateQueries({ queryKey: ['agent-list'] });
        void navigate({ to: '/w/$workspaceId/agents', params: { workspaceId } });
      }}
    />
  );
}

/** Saves the agent as a file that can be imported elsewhere. */
export function ExportAgent({ agent }: { readonly agent: Agent }) {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error: unknown }>({ isBusy: false, error: null });
  const save = async () => {
    setState({ isBusy: true, error: null });
    try {
      const content = await api.exportAgent({ agent_id: agent.id });
      saveFile(`${agent.slug}.json`, new Blob([JSON.stringify(content, null, 2)], { type: 'application/json' }));
      setState({ isBusy: false, error: null });
    } catch (error) {
      setState({ isBusy: false, error });
    }
  };
  return (
    <>
      <Button isPending={state.isBusy} onPress={() => void save()}>
        {a.export}
      </Button>
      {state.error !== null && <Fault error={state.error} onRetry={() => void save()} />}
    </>
  );
}
