import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { useMay, useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { organizationTexts as o } from './messages.ts';

type Secret = Views['SecretView'];

/** Names of secrets; a value goes in and never comes out. */
export function Secrets({ workspaceId }: { readonly workspaceId: string }) {
  const isAdmin = useMay('admin');
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) => api.listSecrets({ workspace_id: workspaceId, cursor, limit: 50 }, { signal }),
    [workspaceId],
  );
  const list = usePagedList<Secret>({ queryKey: ['secrets', workspaceId], fetchPage });
  return (
    <Section title={o.secrets} actions={isAdmin && <PutSecret workspaceId={workspaceId} />}>
      <p className="hint">{o.secretsText}</p>
      {list.rows.length > 0 && <Table label={o.secrets} columns={columnsFor(isAdmin)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Section>
  );
}

function PutSecret({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const { scope } = useMe();
  const places = [
    { id: 'workspace', label: o.scopes.workspace },
    ...(scope === 'workspace' ? [] : [{ id: 'organization', label: o.scopes.organization }]),
  ];
  return (
    <FormDialog
      label={o.addSecret}
      title={o.addSecretTitle}
      submit={t.actions.save}
      fields={[
        { name: 'name', label: o.secret.name },
        { kind: 'password', name: 'value', label: o.value, autoComplete: 'off' },
        { name: 'description', label: o.description },
        { kind: 'choice', name: 'scope', label: o.scope, options: places },
      ]}
      initial={{ scope: 'workspace' }}
      toContent={(values) => {
        const { name = '', value = '', description = '' } = values;
        if (name.trim() === '' || value === '') return null;
        return {
          name: name.trim(),
          value,
          ...(description.trim() !== '' && { description: description.trim() }),
          ...(values['scope'] === 'organization'
            ? { scope: 'organization' as const }
            : { scope: 'workspace' as const, workspace_id: workspaceId }),
        };
      }}
      write={(content) => api.putSecret(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['secrets'] })}
    />
  );
}

function columnsFor(isAdmin: boolean): Column<Secret>[] {
  const { secret } = o;
  const columns: Column<Secret>[] = [
    { id: 'name', title: secret.name, cell: ({ name }) => <code>{name}</code> },
    { id: 'scope', title: secret.scope, cell: ({ scope }) => o.scopes[scope] },
    { id: 'description', title: secret.description, cell: ({ description }) => description },
    { id: 'version', title: secret.version, align: 'end', cell: ({ value_version }) => value_version },
    { id: 'used', title: secret.used, cell: ({ last_used_at }) => (last_used_at === null ? o.never : <Time at={last_used_at} />) },
  ];
  return isAdmin ? [...columns, { id: 'actions', title: secret.actions, cell: (row) => <DeleteSecret secret={row} /> }] : columns;
}

function DeleteSecret({ secret: { name, scope, workspace_id } }: { readonly secret: Secret }) {
  const queries = useQueryClient();
  return (
    <ActionDialog
      label={o.deleteSecret}
      title={o.deleteSecretTitle}
      submit={o.deleteSecretSubmit}
      tone="danger"
      content={{ name, scope, ...(workspace_id !== null && { workspace_id }) }}
      write={(content) => api.deleteSecret(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['secrets'] })}
    >
      <p>{o.deleteSecretText}</p>
    </ActionDialog>
  );
}
