import { useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Section } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { toolTexts as x } from './messages.ts';

const { secrets: s } = x;

interface SecretRow {
  readonly toolId: string;
  readonly name: string;
  readonly onChanged: (text: string) => void;
}

/** The secrets that a tool needs. Values go one way: they are never shown, and never kept as a draft. */
export function ToolSecrets({ tool }: { readonly tool: Pick<Views['ToolView'], 'id' | 'secrets_required'> }) {
  const [said, setSaid] = useState('');
  const rows = tool.secrets_required.map((name): SecretRow => ({ toolId: tool.id, name, onChanged: setSaid }));
  return (
    <Section title={s.title}>
      {rows.length === 0 ? (
        <p className="hint">{s.none}</p>
      ) : (
        <Table label={s.title} columns={columns} rows={rows} keyOf={({ name }) => name} />
      )}
      <p role="status" className="hint">
        {said}
      </p>
    </Section>
  );
}

const columns: Column<SecretRow>[] = [
  { id: 'name', title: s.columns.name, cell: ({ name }) => <code>{name}</code> },
  { id: 'actions', title: s.columns.actions, cell: (row) => <SecretActions {...row} /> },
];

function SecretActions({ toolId, name, onChanged }: SecretRow) {
  return (
    <div className="actions">
      <FormDialog
        label={s.set}
        title={s.setTitle(name)}
        submit={s.setSubmit}
        fields={[{ kind: 'password', name: 'value', label: s.value, hint: s.valueHint, autoComplete: 'off' }]}
        toContent={({ value = '' }) => (value === '' ? null : { tool_id: toolId, values: { [name]: value } })}
        write={(content) => api.setToolSecrets(content)}
        onDone={() => onChanged(s.isSet(name))}
      />
      <ActionDialog
        label={s.delete}
        title={s.deleteTitle(name)}
        submit={s.deleteSubmit}
        tone="danger"
        content={{ tool_id: toolId, name }}
        write={(content) => api.deleteToolSecret(content)}
        onDone={() => onChanged(s.isDeleted(name))}
      >
        <p>{s.deleteText}</p>
      </ActionDialog>
    </div>
  );
}
