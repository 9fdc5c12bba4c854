import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { etagOf } from '@longhaul/client';
import { useMay, useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { organizationTexts as o } from './messages.ts';

type Workspace = Views['WorkspaceView'];

const fields: readonly FormField[] = [
  { name: 'name', label: o.workspace.name },
  { name: 'slug', label: o.workspace.slug },
  { name: 'description', label: o.description },
  { name: 'timezone', label: o.timezone },
  { name: 'currency', label: o.currency },
];

function toContent({ name = '', slug = '', description = '', timezone = '', currency = '' }: Values) {
  if (name.trim() === '') return null;
  return {
    name: name.trim(),
    description: description.trim() || null,
    ...(slug.trim() !== '' && { slug: slug.trim() }),
    ...(timezone.trim() !== '' && { timezone: timezone.trim() }),
    ...(currency.trim() !== '' && { currency: currency.trim().toUpperCase() }),
  };
}

/** The workspaces of an organization, those of the archive too. */
export function Workspaces({ organizationId }: { readonly organizationId: string }) {
  const queries = useQueryClient();
  const isAdmin = useMay('admin');
  const { scope } = useMe();
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listOrganizationWorkspaces({ organization_id: organizationId, cursor, limit: 50 }, { signal }),
    [organizationId],
  );
  const list = usePagedList<Workspace>({ queryKey: ['organization-workspaces', organizationId], fetchPage });
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['organization-workspaces'] });
    void queries.invalidateQueries({ queryKey: ['workspaces'] });
  };
  const add = isAdmin && scope !== 'workspace' && (
    <FormDialog
      label={o.addWorkspace}
      title={o.addWorkspaceTitle}
      submit={o.addWorkspaceTitle}
      fields={fields}
      toContent={(values) => {
        const content = toContent(values);
        return content && { ...content, organization_id: organizationId };
      }}
      write={(content, options) => api.createWorkspace(content, options)}
      onDone={refresh}
    />
  );
  return (
    <Section title={o.workspaces} actions={add}>
      {list.rows.length > 0 && (
        <Table label={o.workspaces} columns={columnsFor(isAdmin, refresh)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} />
    </Section>
  );
}

function columnsFor(isAdmin: boolean, refresh: () => void): Column<Workspace>[] {
  const { workspace } = o;
  const columns: Column<Workspace>[] = [
    { id: 'name', title: workspace.name, cell: ({ name }) => name },
    { id: 'slug', title: workspace.slug, cell: ({ slug }) => slug },
    { id: 'timezone', title: workspace.timezone, cell: ({ timezone }) => timezone },
    { id: 'currency', title: workspace.currency, cell: ({ currency }) => currency },
    {
      id: 'state',
      title: workspace.state,
      cell: ({ is_active }) => <StateWord tone={is_active ? 'good' : 'idle'} text={is_active ? o.active : o.archived} />,
    },
  ];
  return isAdmin
    ? [...columns, { id: 'actions', title: workspace.actions, cell: (row) => <WorkspaceActions workspace={row} onDone={refresh} /> }]
    : columns;
}

function WorkspaceActions({ workspace: { id, is_active }, onDone }: { readonly workspace: Workspace; readonly onDone: () => void }) {
  const isOwner = useMay('owner');
  const place = { workspace_id: id };
  return (
    <div className="actions">
      {is_active && (
        <FormDialog
          label={o.editWorkspace}
          title={o.editWorkspaceTitle}
          submit={t.actions.save}
          fields={fields}
          read={async () => {
            const now = await api.getWorkspace(place);
            const { name, slug, description, timezone, currency } = now;
            return { values: { name, slug, description: description ?? '', timezone, currency }, etag: etagOf(now) };
          }}
          toContent={(values) => {
            const content = toContent(values);
            return content && { ...content, ...place };
          }}
          write={(content, options) => api.updateWorkspace(content, options)}
          onDone={onDone}
        />
      )}
      {isOwner && is_active && (
        <ActionDialog
          label={o.archive}
          title={o.archiveTitle}
          submit={o.archiveSubmit}
          tone="danger"
          content={place}
          write={(content) => api.archiveWorkspace(content)}
          onDone={onDone}
        >
          <p>{o.archiveText}</p>
        </ActionDialog>
      )}
      {isOwner && !is_active && (
        <ActionDialog
          label={o.restore}
          title={o.restoreTitle}
          submit={o.restoreSubmit}
          content={place}
          write={(content) => api.restoreWorkspace(content)}
          onDone={onDone}
        />
      )}
    </div>
  );
}
