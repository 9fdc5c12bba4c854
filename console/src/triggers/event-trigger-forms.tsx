import { useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { useAgents, type Agents } from '../app/use-agents.ts';
import { isTrue, jsonText, objectOf, textOf } from '../ui/form-values.ts';
import { templateFields, templatesOf, templateValues } from './definition.ts';
import { triggerTexts as x } from './messages.ts';

const v = x.event;

const fieldsFor = ({ options }: Agents): readonly FormField[] => [
  { name: 'name', label: x.name },
  { kind: 'choice', name: 'agent_id', label: x.agent, options },
  { name: 'event_kind', label: v.kind, hint: v.kindHint },
  { kind: 'area', name: 'filter', label: v.filter, isMono: true },
  { kind: 'area', name: 'coalescing', label: v.coalescing, isMono: true },
  { name: 'max_depth', label: v.depth, inputMode: 'numeric' },
  { kind: 'check', name: 'is_active', label: x.active },
  ...templateFields,
];

function toFields(values: Values) {
  const templates = templatesOf(values);
  const filter = objectOf(values['filter']);
  const coalescing = objectOf(values['coalescing']);
  const name = textOf(values['name']);
  const event_kind = textOf(values['event_kind']);
  const agent_id = values['agent_id'] ?? '';
  const prompt_template = values['prompt_template'] ?? '';
  if (templates === null || filter === undefined || coalescing === undefined) return null;
  if (name === null || event_kind === null || agent_id === '' || prompt_template.trim() === '') return null;
  return {
    ...templates,
    name,
    agent_id,
    event_kind,
    prompt_template,
    filter,
    coalescing: coalescing as Views['CoalescingConfig'] | null, // the server checks it and points at the field
    max_depth: Number(values['max_depth']),
    is_active: isTrue(values['is_active']),
  };
}

export function AddEventTrigger({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const agents = useAgents();
  return (
    <FormDialog<Views['EventTriggerCreate']>
      label={v.add}
      title={v.addTitle}
      submit={t.actions.save}
      isPrimary
      fields={fieldsFor(agents)}
      initial={{ agent_id: agents.options[0]?.id ?? '', max_depth: '3', is_active: 'true', subject_kind: 'none' }}
      toContent={(values) => {
        const fields = toFields(values);
        return fields === null ? null : { ...fields, workspace_id: workspaceId };
      }}
      write={(content, options) => api.createEventTrigger(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['event-triggers'] })}
    />
  );
}

export function EditEventTrigger({ triggerId }: { readonly triggerId: string }) {
  const queries = useQueryClient();
  const agents = useAgents();
  return (
    <FormDialog
      label={x.edit}
      title={v.editTitle}
      submit={t.actions.save}
      fields={fieldsFor(agents)}
      read={async () => {
        const now = await api.getEventTrigger({ trigger_id: triggerId });
        const values = {
          ...templateValues(now),
          name: now.name,
          agent_id: now.agent_id,
          event_kind: now.event_kind,
          filter: jsonText(now.filter),
          coalescing: jsonText(now.coalescing),
          max_depth: String(now.max_depth),
          is_active: now.is_active ? 'true' : '',
        };
        return { values, etag: etagOf(now) };
      }}
      toContent={toFields}
      write={(content, options) => api.updateEventTrigger({ trigger_id: triggerId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['event-triggers'] })}
    />
  );
}
