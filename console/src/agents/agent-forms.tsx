import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { etagOf } from '@longhaul/client';
import { useState } from 'react';
import { FileTrigger, Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Check } from '../ui/check.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { agentTexts as a } from './messages.ts';

type Agent = Views['AgentView'];

const named: readonly FormField[] = [
  { name: 'name', label: a.fields.name },
  { name: 'slug', label: a.fields.slug, hint: a.fields.slugHint },
];
const described: FormField = { kind: 'area', name: 'description', label: a.fields.description };

const orNull = (text: string | undefined) => (text === undefined || text.trim() === '' ? null : text.trim());

function useOpenAgent(workspaceId: string) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return async (agentId: string) => {
    await queries.invalidateQueries({ queryKey: ['agents'] });
    await navigate({ to: '/w/$workspaceId/agents/$agentId', params: { workspaceId, agentId } });
  };
}

export function CreateAgent({ workspaceId }: { readonly workspaceId: string }) {
  const open = useOpenAgent(workspaceId);
  const { name, slug } = { name: 'name', slug: 'slug' } as const;
  return (
    <FormDialog
      label={a.create}
      title={a.createTitle}
      submit={a.createSubmit}
      isPrimary
      intro={<p className="hint">{a.createHint}</p>}
      fields={[...named, described]}
      toContent={(values) =>
        values[name]?.trim() && values[slug]?.trim()
          ? { name: values[name].trim(), slug: values[slug].trim(), description: orNull(values['description']), workspace_id: workspaceId }
          : null
      }
      write={async (content, options) => open((await api.createAgent(content, options)).id)}
    />
  );
}

/** What is changed leaves the rest alone. */
export function EditAgent({ agentId }: { readonly agentId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={a.edit}
      title={a.editTitle}
      submit={a.save}
      fields={[...named, described, { kind: 'check', name: 'is_active', label: a.fields.active }]}
      read={async () => {
        const agent = await api.getAgent({ agent_id: agentId });
        const etag = etagOf(agent);
        const { name, slug, description, is_active } = agent;
        return { values: { name, slug, description: description ?? '', is_active: is_active ? 'true' : '' }, ...(etag && { etag }) };
      }}
      toContent={({ name = '', slug = '', description, is_active }: Values) =>
        name.trim() === '' || slug.trim() === ''
          ? null
          : { agent_id: agentId, name: name.trim(), slug: slug.trim(), description: orNull(description), is_active: is_active === 'true' }
      }
      write={(content, options) => api.updateAgent(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['agents'] })}
    />
  );
}

export function CloneAgent({ agent, workspaceId }: { readonly agent: Agent; readonly workspaceId: string }) {
  const open = useOpenAgent(workspaceId);
  return (
    <FormDialog
      label={a.clone}
      title={a.cloneTitle}
      submit={a.cloneSubmit}
      fields={[...named, { kind: 'check', name: 'personas', label: a.fields.personas }]}
      initial={{ name: agent.name, slug: `${agent.slug}-copy`, personas: 'true' }}
      toContent={({ name = '', slug = '', personas }: Values) =>
        slug.trim() === '' ? null : { agent_id: agent.id, slug: slug.trim(), name: orNull(name), include_personas: personas === 'true' }
      }
      write={async (content, options) => open((await api.cloneAgent(content, options)).id)}
    />
  );
}

export function DeleteAgent({ agentId, workspaceId }: { readonly agentId: string; readonly workspaceId: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [force, setForce] = useState(false);
  return (
    <ActionDialog
      label={a.delete}
      title={a.deleteTitle}
      submit={a.deleteSubmit}
      tone="danger"
      content={{ agent_id: agentId, ...(force && { force }) }}
      write={async (content) => {
        await api.deleteAgent(content);
        await navigate({ to: '/w/$workspaceId/agents', params: { workspaceId } });
        await queries.invalidateQueries({ queryKey: ['agents'] });
      }}
    >
      <p>{a.deleteText}</p>
      <Check label={a.deleteForce} isChecked={force} onChange={setForce} />
    </ActionDialog>
  );
}

/** Reads what an export has written; the server judges it. */
export function ImportAgent({ workspaceId }: { readonly workspaceId: string }) {
  const open = useOpenAgent(workspaceId);
  const [file, setFile] = useState<{ readonly name: string; readonly content: Views['AgentImport'] | null } | null>(null);
  const read = async (files: FileList | null) => {
    const chosen = files?.[0];
    if (chosen === undefined) return;
    const text = await chosen.text();
    setFile({ name: chosen.name, content: parsed(text) });
  };
  return (
    <ActionDialog
      label={a.import}
      title={a.importTitle}
      submit={a.importSubmit}
      content={file?.content ?? null}
      onOpen={() => setFile(null)}
      write={async (content, options) => open((await api.importAgent(content, options)).id)}
    >
      <FileTrigger acceptedFileTypes={['application/json']} onSelect={(files) => void read(files)}>
        <Button>{a.importFile}</Button>
      </FileTrigger>
      {file !== null && <p role="status">{file.content === null ? a.importInvalid : file.name}</p>}
    </ActionDialog>
  );
}

function parsed(text: string): Views['AgentImport'] | null {
  try {
    return JSON.parse(text) as Views['AgentImport']; // checked by the server
  } catch {
    return null;
  }
}
