import { useQueryClient } from '@tanstack/react-query';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog, type Opened } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { agentTexts as a } from './messages.ts';

type Persona = Views['PersonaView'];

const modes = ['append', 'prepend', 'replace'] as const;
const fields: readonly FormField[] = [
  { name: 'name', label: a.fields.name },
  { kind: 'area', name: 'description', label: a.fields.description },
  { kind: 'area', name: 'greeting', label: a.personaFields.greeting },
  { name: 'locale', label: a.personaFields.locale, placeholder: 'en-GB' },
  { kind: 'area', name: 'instructions', label: a.instructions, rows: 6 },
  { kind: 'choice', name: 'instructions_mode', label: a.personaFields.mode, options: modes.map((id) => ({ id, label: a.modes[id] })) },
  { name: 'model', label: a.model },
  { kind: 'area', name: 'tools_allow', label: a.personaFields.tools },
  { kind: 'check', name: 'is_default', label: a.personaFields.isDefault },
  { kind: 'check', name: 'is_active', label: a.fields.active },
];

function toFields(values: Values) {
  const text = (name: string) => (values[name] ?? '').trim() || null;
  const name = text('name');
  if (name === null) return null;
  const tools = (values['tools_allow'] ?? '').split(/\s+/).filter((slug) => slug !== '');
  return {
    name,
    description: text('description'),
    greeting: text('greeting'),
    locale: text('locale'),
    instructions: values['instructions'] ?? '',
    instructions_mode: oneOf(modes, values['instructions_mode']) ?? 'append',
    model: text('model'),
    tools_allow: tools.length === 0 ? null : tools,
    is_default: values['is_default'] === 'true',
    is_active: values['is_active'] === 'true',
  } satisfies Views['PersonaUpdate'];
}

function toValues(persona: Persona): Opened {
  const { name, description, greeting, locale, instructions, instructions_mode, model, tools_allow, is_default, is_active, etag } = persona;
  const values = {
    name,
    description: description ?? '',
    greeting: greeting ?? '',
    locale: locale ?? '',
    instructions,
    instructions_mode,
    model: model ?? '',
    tools_allow: (tools_allow ?? []).join('\n'),
    is_default: is_default ? 'true' : '',
    is_active: is_active ? 'true' : '',
  };
  return { values, etag };
}

const columns: Column<Persona>[] = [
  { id: 'name', title: a.persona.name, cell: ({ name }) => name },
  { id: 'slug', title: a.persona.slug, cell: ({ slug }) => slug },
  {
    id: 'state',
    title: a.persona.state,
    cell: ({ is_active, is_default }) => [is_active ? a.active : a.inactive, ...(is_default ? [a.persona.default] : [])].join(', '),
  },
];

function actionsFor(mayDelete: boolean, onDone: () => void): Column<Persona> {
  return {
    id: 'actions',
    title: a.persona.actions,
    cell: (persona) => <PersonaActions persona={persona} mayDelete={mayDelete} onDone={onDone} />,
  };
}

interface PersonaActionsProps {
  readonly persona: Persona;
  readonly mayDelete: boolean;
  readonly onDone: () => void;
}

function PersonaActions({ persona, mayDelete, onDone }: PersonaActionsProps) {
  return (
    <div className="actions">
      <EditPersona persona={persona} onDone={onDone} />
      {mayDelete && (
        <ActionDialog
          label={a.delete}
          title={a.deletePersonaTitle}
          submit={a.deletePersonaSubmit}
          tone="danger"
          content={{ agent_id: persona.agent_id, persona_id: persona.id }}
          write={(content) => api.deletePersona(content)}
          onDone={onDone}
        >
          <p>{a.deletePersonaText}</p>
        </ActionDialog>
      )}
    </div>
  );
}

/** As whom an agent can speak. */
export function Personas({ agentId }: { readonly agentId: string }) {
  const mayWrite = useMay('member');
  const mayDelete = useMay('admin');
  const queries = useQueryClient();
  const queryKey = ['agent', agentId, 'personas'];
  const refresh = () => void queries.invalidateQueries({ queryKey });
  const list = usePagedList<Persona>({
    queryKey,
    fetchPage: (cursor, signal) => api.listPersonas({ agent_id: agentId, cursor, limit: 50 }, { signal }),
  });
  return (
    <Section title={a.parts.personas} actions={mayWrite && <AddPersona agentId={agentId} onDone={refresh} />}>
      {list.rows.length > 0 && (
        <Table
          label={a.parts.personas}
          columns={mayWrite ? [...columns, actionsFor(mayDelete, refresh)] : columns}
          rows={list.rows}
          keyOf={({ id }) => id}
        />
      )}
      <ListState list={list} />
    </Section>
  );
}

function AddPersona({ agentId, onDone }: { readonly agentId: string; readonly onDone: () => void }) {
  return (
    <FormDialog
      label={a.addPersona}
      title={a.personaTitle}
      submit={t.actions.save}
      fields={[{ name: 'slug', label: a.fields.slug }, ...fields]}
      initial={{ instructions_mode: 'append', is_active: 'true' }}
      toContent={(values) => {
        const content = toFields(values);
        const slug = (values['slug'] ?? '').trim();
        return content === null || slug === '' ? null : { agent_id: agentId, slug, ...content };
      }}
      write={(content, options) => api.createPersona(content, options)}
      onDone={onDone}
    />
  );
}

function EditPersona({ persona, onDone }: { readonly persona: Persona; readonly onDone: () => void }) {
  const at = { agent_id: persona.agent_id, persona_id: persona.id };
  const read = async () => {
    // No operation reads one alone.
    for await (const one of api.listPersonas({ agent_id: persona.agent_id })) if (one.id === persona.id) return toValues(one);
    return toValues(persona);
  };
  return (
    <FormDialog
      label={a.editPersona}
      title={a.personaTitle}
      submit={t.actions.save}
      fields={fields}
      read={read}
      toContent={toFields}
      write={(content, options) => api.updatePersona({ ...at, ...content }, options)}
      onDone={onDone}
    />
  );
}
