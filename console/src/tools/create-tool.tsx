import { useQueryClient } from '@tanstack/react-query';
import { api, type Views } from '../app/api.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField } from '../ui/form-fields.tsx';
import { readJson } from '../ui/read-json.ts';
import { oneOf } from '../ui/search.ts';
import { toolTexts as o } from './messages.ts';

// Tools of MCP servers come with their toolkit.
const kinds = ['http', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule'] as const;
const effects = ['read', 'write'] as const;

const fields: readonly FormField[] = [
  { name: 'slug', label: o.fields.slug },
  { kind: 'choice', name: 'kind', label: o.fields.kind, options: kinds.map((id) => ({ id, label: o.kinds[id] ?? id })) },
  { name: 'display_name', label: o.fields.display_name },
  { kind: 'area', name: 'description', label: o.fields.description },
  { kind: 'area', name: 'config', label: o.fields.config, isMono: true, rows: 8 },
  { kind: 'area', name: 'input_schema', label: o.fields.input_schema, isMono: true, rows: 6 },
  { kind: 'area', name: 'secrets_required', label: o.fields.secrets_required },
  {
    kind: 'choice',
    name: 'effect',
    label: o.fields.effect,
    options: [{ id: '', label: o.byKind }, ...effects.map((id) => ({ id, label: id }))],
  },
  { kind: 'check', name: 'critical', label: o.fields.critical },
  { kind: 'check', name: 'client_owned', label: o.fields.client_owned },
];

/** A tool of any kind; its configuration and schema are JSON, which the server checks by the kind. */
export function CreateTool({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog<Views['ToolCreate']>
      label={o.create}
      title={o.createTitle}
      submit={o.createSubmit}
      isPrimary
      fields={fields}
      initial={{ kind: 'http', effect: '', config: '{\n  "method": "GET",\n  "url": "https://"\n}', input_schema: '' }}
      toContent={(values) => {
        const { slug = '', description = '', config = '', input_schema = '', display_name = '', secrets_required = '' } = values;
        const effect = oneOf(effects, values['effect']);
        const kind = oneOf(kinds, values['kind']);
        const read = config.trim() === '' ? { value: {}, problem: null } : readJson(config);
        const schema = input_schema.trim() === '' ? null : readJson(input_schema);
        if (slug.trim() === '' || description.trim() === '' || kind === undefined || read.problem !== null || schema?.problem) return null;
        return {
          slug: slug.trim(),
          kind,
          description: description.trim(),
          display_name: display_name.trim() || null,
          config: read.value,
          ...(schema !== null && { input_schema: schema.value }),
          secrets_required: linesOf(secrets_required),
          ...(effect !== undefined && { effect }),
          ...(values['critical'] === 'true' && { critical: true }),
          ...(values['client_owned'] === 'true' && { client_owned: true }),
          workspace_id: workspaceId,
        } as Views['ToolCreate']; // the server checks the configuration by the kind
      }}
      write={(content, options) => api.createTool(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['tools'] })}
    />
  );
}

export function linesOf(text: string): string[] {
  return text.split(/\s+/).filter((line) => line !== '');
}
