import { useQueryClient } from '@tanstack/react-query';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { agentTexts as a } from './messages.ts';

type Persona = Views['PersonaView'];

const { personas: p } = a;
const modes = ['append', 'prepend', 'replace'] as const;
const fields: readonly FormField[] = [
  { name: 'name', label: a.fields.name },
  { name: 'slug', label: a.fields.slug, hint: a.fields.slugHint },
  { kind: 'area', name: 'description', label: a.fields.description },
  { kind: 'area', name: 'greeting', label: p.fields.greeting },
  { kind: 'area', name: 'instructions', label: p.fields.instructions, rows: 6 },
  { kind: 'choice', name: 'instructions_mode', label: p.fields.mode, options: modes.map((id) => ({ id, label: p.modes[id] ?? id })) },
  { name: 'model', label: p.fields.model },
  { kind: 'check', name: 'is_default', label: p.fields.isDefault },
  { kind: 'check', name: 'is_active', label: p.fields.active },
];

/** The personas of an agent. */
export function Personas({ agentId }: { readonly agentId: string }) {
  const isMember = useMay('member');
  const isAdmin = useMay('admin');
  const list = usePagedList<Persona>({
    queryKey: ['agents', agentId, 'personas'],
    fetchPage: (cursor, signal) => api.listPersonas({ agent_id: agentId, cursor, limit: 50 }, { signal }),
  });
  return (
    <Section title={p.title} actions={isMember && <AddPersona agentId={agentId} />}>
      {list.rows.length > 0 && <Table label={p.title} columns={columnsFor(isMember, isAdmin)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Section>
  );
}

function columnsFor(mayEdit: boolean, mayDelete: boolean): Column<Persona>[] {
  const shown: Column<Persona>[] = [
    { id: 'name', title: p.columns.name, cell: ({ name }) => name },
    { id: 'slug', title: p.columns.slug, cell: ({ slug }) => <code>{slug}</code> },
    { id: 'mode', title: p.columns.mode, cell: ({ instructions_mode: mode }) => p.modes[mode] ?? mode },
    { id: 'state', title: p.columns.state, cell: (persona) => <PersonaState persona={persona} /> },
  ];
  if (!mayEdit) return shown;
  return [
    ...shown,
    {
      id: 'actions',
      title: p.columns.actions,
      cell: (persona) => (
        <div className="actions">
          <EditPersona persona={persona} />
          {mayDelete && <DeletePersona persona={persona} />}
        </div>
      ),
    },
  ];
}

function PersonaState({ persona: { is_active, is_default } }: { readonly persona: Persona }) {
  return (
    <>
      <StateWord tone={is_active ? 'good' : 'idle'} text={is_active ? a.active : a.inactive} />
      {is_default && <span className="hint"> {p.isDefault}</span>}
    </>
  );
}

const orNull = (text: string | undefined) => (text === undefined || text.trim() === '' ? null : text.trim());

function toContent(values: Values) {
  const { name = '', slug = '', instructions = '' } = values;
  if (name.trim() === '' || slug.trim() === '') return null;
  return {
    name: name.trim(),
    slug: slug.trim(),
    description: orNull(values['description']),
    greeting: orNull(values['greeting']),
    instructions,
    instructions_mode: modes.find((one) => one === values['instructions_mode']) ?? 'append',
    model: orNull(values['model']),
    is_default: values['is_default'] === 'true',
    is_active: values['is_active'] === 'true',
  };
}

function AddPersona({ agentId }: { readonly agentId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={p.add}
      title={p.addTitle}
      submit={a.createSubmit}
      fields={fields}
      initial={{ instructions_mode: 'append', is_active: 'true' }}
      toContent={toContent}
      write={(content, options) => api.createPersona({ agent_id: agentId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['agents', agentId, 'personas'] })}
    />
  );
}

function EditPersona({ persona }: { readonly persona: Persona }) {
  const { agent_id: agentId } = persona;
  const queries = useQueryClient();
  return (
    <FormDialog
      label={p.edit}
      title={p.editTitle}
      submit={a.save}
      fields={fields}
      // No operation reads a single one: the list has its version.
      read={async () => {
        for await (const found of api.listPersonas({ agent_id: agentId, limit: 200 }))
          if (found.id === persona.id) return openedWith(found);
        return openedWith(persona);
      }}
      toContent={toContent}
      write={(content, options) => api.updatePersona({ agent_id: agentId, persona_id: persona.id, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['agents', agentId, 'personas'] })}
    />
  );
}

function openedWith({ etag, is_default, is_active, ...persona }: Persona) {
  const { name, slug, description, greeting, instructions, instructions_mode, model } = persona;
  return {
    values: {
      name,
      slug,
      description: description ?? '',
      greeting: greeting ?? '',
      instructions,
      instructions_mode,
      model: model ?? '',
      is_default: is_default ? 'true' : '',
      is_active: is_active ? 'true' : '',
    },
    etag,
  };
}

function DeletePersona({ persona: { agent_id: agentId, id: personaId } }: { readonly persona: Persona }) {
  const queries = useQueryClient();
  return (
    <ActionDialog
      label={p.delete}
      title={p.deleteTitle}
      submit={p.deleteSubmit}
      tone="danger"
      content={{ agent_id: agentId, persona_id: personaId }}
      write={(content) => api.deletePersona(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['agents', agentId, 'personas'] })}
    >
      <p>{p.deleteText}</p>
    </ActionDialog>
  );
}
