import { useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { useAgents, type Agents } from '../app/use-agents.ts';
import { isTrue, jsonText, objectOf, textOf } from '../ui/form-values.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { reviewTexts as r } from './messages.ts';

const b = r.binding;
type Binding = Views['RepoBindingView'];
const configs = ['review_config', 'editor_config', 'budget_config', 'workspace_config'] as const;

const fieldsFor = ({ options }: Agents): readonly FormField[] => [
  { kind: 'choice', name: 'reviewer_agent_id', label: b.reviewer, options: [{ id: 'none', label: b.nobody }, ...options] },
  { kind: 'choice', name: 'editor_agent_id', label: b.editor, options: [{ id: 'none', label: b.nobody }, ...options] },
  { kind: 'area', name: 'enabled_events', label: b.events, isMono: true },
  { kind: 'area', name: 'review_config', label: b.review, isMono: true, rows: 6 },
  { kind: 'area', name: 'editor_config', label: b.edits, isMono: true, rows: 6 },
  { kind: 'area', name: 'budget_config', label: b.budget, isMono: true },
  { kind: 'area', name: 'workspace_config', label: b.workspace, isMono: true },
  { kind: 'check', name: 'is_active', label: r.active },
];

/** As they are written: those that are on, by event and action. */
const eventNames = (events: Binding['enabled_events']) =>
  events.flatMap(({ event, action, enabled }) => (enabled ? [action === '' ? event : `${event}.${action}`] : [])).join('\n');
const agentOf = (id = 'none') => (id === 'none' ? null : id);

function toFields(values: Values) {
  const read = configs.map((name) => [name, objectOf(values[name])] as const);
  if (read.some(([, value]) => value === undefined)) return null;
  const events = (values['enabled_events'] ?? '').split(/\s+/).filter(Boolean);
  return {
    reviewer_agent_id: agentOf(values['reviewer_agent_id']),
    editor_agent_id: agentOf(values['editor_agent_id']),
    enabled_events: events as NonNullable<Views['RepoBindingCreate']['enabled_events']>, // the server knows the names
    // The server checks them and points at the field.
    ...(Object.fromEntries(read.filter(([, value]) => value !== null)) as Partial<Pick<Binding, (typeof configs)[number]>>),
    is_active: isTrue(values['is_active']),
  };
}

export function AddBinding({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const agents = useAgents();
  return (
    <FormDialog<Views['RepoBindingCreate']>
      label={b.add}
      title={b.addTitle}
      submit={t.actions.save}
      isPrimary
      fields={[
        { name: 'installation_id', label: b.installation, inputMode: 'numeric' },
        { name: 'repo_full_name', label: b.repository },
        ...fieldsFor(agents),
      ]}
      initial={{ reviewer_agent_id: agents.options[0]?.id ?? 'none', editor_agent_id: 'none', is_active: 'true' }}
      toContent={(values) => {
        const fields = toFields(values);
        const repo_full_name = textOf(values['repo_full_name']);
        const installation = textOf(values['installation_id']);
        if (fields === null || repo_full_name === null || installation === null) return null;
        const { enabled_events, ...rest } = fields;
        return {
          ...rest,
          ...(enabled_events.length > 0 && { enabled_events }),
          repo_full_name,
          installation_id: Number(installation),
          workspace_id: workspaceId,
        };
      }}
      write={(content, options) => api.createRepoBinding(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['repo-bindings'] })}
    />
  );
}

export function EditBinding({ bindingId }: { readonly bindingId: string }) {
  const queries = useQueryClient();
  const agents = useAgents();
  return (
    <FormDialog
      label={r.edit}
      title={b.editTitle}
      submit={t.actions.save}
      fields={fieldsFor(agents)}
      read={async () => {
        const now = await api.getRepoBinding({ binding_id: bindingId });
        const values = {
          reviewer_agent_id: now.reviewer_agent_id ?? 'none',
          editor_agent_id: now.editor_agent_id ?? 'none',
          enabled_events: eventNames(now.enabled_events),
          ...Object.fromEntries(configs.map((name) => [name, jsonText(now[name])])),
          is_active: now.is_active ? 'true' : '',
        };
        return { values, etag: etagOf(now) };
      }}
      toContent={toFields}
      write={(content, options) => api.updateRepoBinding({ binding_id: bindingId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['repo-bindings'] })}
    />
  );
}
