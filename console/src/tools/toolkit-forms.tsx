import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { etagOf } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { namesOf, objectOf } from './json-text.ts';
import { toolTexts as x } from './messages.ts';

const { kit } = x;
const kinds = ['mcp', 'openapi', 'manual'] as const;
const described: readonly FormField[] = [
  { name: 'name', label: x.fields.name },
  { kind: 'area', name: 'description', label: x.fields.description },
  { kind: 'area', name: 'config', label: x.fields.config, hint: x.fields.jsonHint, isMono: true, rows: 6 },
  { name: 'secrets_required', label: x.fields.secrets },
  { kind: 'check', name: 'is_active', label: x.fields.active },
];

function toContent(values: Values) {
  const { name = '', description = '' } = values;
  const config = objectOf(values['config']);
  if (name.trim() === '' || config === null) return null;
  return {
    name: name.trim(),
    description: description.trim() === '' ? null : description.trim(),
    config,
    secrets_required: namesOf(values['secrets_required']),
  };
}

export function CreateToolkit({ workspaceId }: { readonly workspaceId: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <FormDialog
      label={kit.create}
      title={kit.createTitle}
      submit={x.createSubmit}
      isPrimary
      fields={[
        { kind: 'choice', name: 'kind', label: kit.source, options: kinds.map((id) => ({ id, label: x.kinds[id] ?? id })) },
        { name: 'slug', label: x.fields.slug, hint: x.fields.toolkitSlugHint },
        ...described.filter(({ name }) => name !== 'is_active'),
      ]}
      initial={{ kind: 'mcp' }}
      toContent={(values) => {
        const content = toContent(values);
        const slug = values['slug']?.trim();
        // What the config of a kind holds, the server checks.
        return content && slug ? ({ kind: values['kind'], slug, workspace_id: workspaceId, ...content } as Views['ToolkitCreate']) : null;
      }}
      write={async (content, options) => {
        const { id } = await api.createToolkit(content, options);
        await queries.invalidateQueries({ queryKey: ['toolkits'] });
        await navigate({ to: '/w/$workspaceId/toolkits/$toolkitId', params: { workspaceId, toolkitId: id } });
      }}
    />
  );
}

export function EditToolkit({ toolkitId }: { readonly toolkitId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={kit.edit}
      title={kit.editTitle}
      submit={x.save}
      fields={described}
      read={async () => {
        const toolkit = await api.getToolkit({ toolkit_id: toolkitId });
        const etag = etagOf(toolkit);
        const values = {
          name: toolkit.name,
          description: toolkit.description ?? '',
          config: JSON.stringify(toolkit.config, null, 2),
          secrets_required: toolkit.secrets_required.join(', '),
          is_active: toolkit.is_active ? 'true' : '',
        };
        return { values, ...(etag && { etag }) };
      }}
      toContent={(values) => {
        const content = toContent(values);
        return content && { ...content, is_active: values['is_active'] === 'true' };
      }}
      write={(content, options) => api.updateToolkit({ toolkit_id: toolkitId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['toolkits'] })}
    />
  );
}

export function DeleteToolkit({ toolkitId, workspaceId }: { readonly toolkitId: string; readonly workspaceId: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <ActionDialog
      label={kit.delete}
      title={kit.deleteTitle}
      submit={kit.deleteSubmit}
      tone="danger"
      content={{ toolkit_id: toolkitId }}
      write={async (content) => {
        await api.deleteToolkit(content);
        await navigate({ to: '/w/$workspaceId/toolkits', params: { workspaceId } });
        await queries.invalidateQueries({ queryKey: ['toolkits'] });
      }}
    >
      <p>{kit.deleteText}</p>
    </ActionDialog>
  );
}

/** A revision of a toolkit that reads no server: of a document, or of tools that are written out. */
export function NewRevision({ toolkitId, kind }: { readonly toolkitId: string; readonly kind: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={kit.newRevision}
      title={kit.newRevisionTitle}
      submit={kit.newRevisionSubmit}
      fields={[{ kind: 'area', name: 'source', label: kit.sourceJson, hint: x.fields.jsonHint, isMono: true, rows: 12 }]}
      initial={{ source: JSON.stringify({ type: kind }, null, 2) }}
      toContent={({ source }) => {
        const content = objectOf(source);
        // What a source holds, the server checks.
        return content && { toolkit_id: toolkitId, source: content as unknown as Views['ToolkitRevisionCreate']['source'] };
      }}
      write={(content, options) => api.createToolkitRevision(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['toolkits', toolkitId] })}
    />
  );
}
