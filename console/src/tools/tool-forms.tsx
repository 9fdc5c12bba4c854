import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { etagOf } from '@longhaul/client';
import { useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Check } from '../ui/check.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { namesOf, objectOf } from './json-text.ts';
import { toolTexts as x } from './messages.ts';

type NewTool = Views['ToolCreate'];

// `remote_protocol` comes of toolkits alone.
const created = ['http', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule'] as const;
const effects = ['read', 'write'] as const;
const described: readonly FormField[] = [
  { name: 'display_name', label: x.fields.displayName },
  { kind: 'area', name: 'description', label: x.fields.description, hint: x.fields.descriptionHint },
  { kind: 'choice', name: 'effect', label: x.effect, options: effects.map((id) => ({ id, label: x.effects[id] ?? id })) },
  { kind: 'area', name: 'input_schema', label: x.fields.inputSchema, hint: x.fields.jsonHint, isMono: true, rows: 6 },
  { kind: 'area', name: 'config', label: x.fields.config, hint: x.fields.jsonHint, isMono: true, rows: 6 },
  { name: 'secrets_required', label: x.fields.secrets },
  { kind: 'check', name: 'critical', label: x.fields.critical },
  { kind: 'check', name: 'is_active', label: x.fields.active },
];

function toContent(values: Values) {
  const { description = '', display_name = '' } = values;
  const [inputSchema, config] = [objectOf(values['input_schema']), objectOf(values['config'])];
  if (description.trim() === '' || inputSchema === null || config === null) return null;
  return {
    display_name: display_name.trim() === '' ? null : display_name.trim(),
    description: description.trim(),
    effect: effects.find((one) => one === values['effect']) ?? 'write',
    input_schema: inputSchema,
    config,
    secrets_required: namesOf(values['secrets_required']),
    critical: values['critical'] === 'true',
    is_active: values['is_active'] === 'true',
  };
}

export function CreateTool({ workspaceId }: { readonly workspaceId: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <FormDialog
      label={x.create}
      title={x.createTitle}
      submit={x.createSubmit}
      isPrimary
      fields={[
        { kind: 'choice', name: 'kind', label: x.kind, options: created.map((id) => ({ id, label: x.kinds[id] ?? id })) },
        { name: 'slug', label: x.fields.slug, hint: x.fields.slugHint },
        ...described,
      ]}
      initial={{ kind: 'http', effect: 'write', is_active: 'true', input_schema: '{"type": "object"}' }}
      toContent={(values) => {
        const content = toContent(values);
        const slug = values['slug']?.trim();
        // Which members belong to a kind, and what its config holds, the server checks.
        return content && slug ? ({ kind: values['kind'], slug, workspace_id: workspaceId, ...content } as NewTool) : null;
      }}
      write={async (content, options) => {
        const { id } = await api.createTool(content, options);
        await queries.invalidateQueries({ queryKey: ['tools'] });
        await navigate({ to: '/w/$workspaceId/tools/$toolId', params: { workspaceId, toolId: id } });
      }}
    />
  );
}

export function EditTool({ toolId }: { readonly toolId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={x.edit}
      title={x.editTitle}
      submit={x.save}
      fields={described}
      read={async () => {
        const tool = await api.getTool({ tool_id: toolId });
        const etag = etagOf(tool);
        const values = {
          display_name: tool.display_name ?? '',
          description: tool.description,
          effect: tool.effect,
          input_schema: JSON.stringify(tool.input_schema, null, 2),
          config: JSON.stringify(tool.config, null, 2),
          secrets_required: tool.secrets_required.join(', '),
          critical: tool.critical ? 'true' : '',
          is_active: tool.is_active ? 'true' : '',
        };
        return { values, ...(etag && { etag }) };
      }}
      toContent={toContent}
      write={(content, options) => api.updateTool({ tool_id: toolId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['tools'] })}
    />
  );
}

export function DeleteTool({ toolId, workspaceId }: { readonly toolId: string; readonly workspaceId: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [force, setForce] = useState(false);
  return (
    <ActionDialog
      label={x.delete}
      title={x.deleteTitle}
      submit={x.deleteSubmit}
      tone="danger"
      content={{ tool_id: toolId, ...(force && { force }) }}
      write={async (content) => {
        await api.deleteTool(content);
        await navigate({ to: '/w/$workspaceId/tools', params: { workspaceId } });
        await queries.invalidateQueries({ queryKey: ['tools'] });
      }}
    >
      <p>{x.deleteText}</p>
      <Check label={x.deleteForce} isChecked={force} onChange={setForce} />
    </ActionDialog>
  );
}
