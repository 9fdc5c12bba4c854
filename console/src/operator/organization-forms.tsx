import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Notice } from '../ui/notice.tsx';
import { operatorTexts as o } from './messages.ts';

type Organization = Views['OrganizationView'];

export function CreateOrganization() {
  const queries = useQueryClient();
  return (
    <FormDialog<Views['OrganizationCreate']>
      label={o.add}
      title={o.addTitle}
      submit={o.addTitle}
      isPrimary
      intro={<p>{o.addText}</p>}
      fields={[
        { name: 'name', label: o.name },
        { name: 'slug', label: o.slug },
        { name: 'timezone', label: o.timezone },
        { kind: 'email', name: 'owner.email', label: o.ownerEmail },
        { name: 'owner.full_name', label: o.ownerName },
        { kind: 'password', name: 'owner.password', label: o.ownerPassword, autoComplete: 'new-password' },
        { name: 'workspace.name', label: o.workspaceName },
      ]}
      initial={{ timezone: 'UTC' }}
      toContent={(values) => {
        const text = (name: string) => values[name]?.trim() ?? '';
        if (text('name') === '' || text('slug') === '' || text('owner.email') === '') return null;
        const password = values['owner.password'] ?? '';
        return {
          name: text('name'),
          slug: text('slug'),
          ...(text('timezone') !== '' && { timezone: text('timezone') }),
          owner: {
            email: text('owner.email'),
            ...(text('owner.full_name') !== '' && { full_name: text('owner.full_name') }),
            ...(password !== '' && { password }),
          },
          ...(text('workspace.name') !== '' && { workspace: { name: text('workspace.name') } }),
        };
      }}
      write={(content, options) => api.createOrganization(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['organizations'] })}
    />
  );
}

/** Suspend, resume, delete, purge: what the state allows. */
export function OrganizationActions({ organization: { id, slug, status } }: { readonly organization: Organization }) {
  const queries = useQueryClient();
  const [purge, setPurge] = useState<Views['PurgeView'] | null>(null);
  const refresh = () => void queries.invalidateQueries({ queryKey: ['organizations'] });
  const place = { organization_id: id };
  const sure = [
    { name: 'reason', label: o.reason },
    { name: 'confirm', label: o.confirm(slug) },
  ] as const;
  const toContent = ({ reason = '', confirm = '' }: Readonly<Record<string, string>>) =>
    reason.trim() === '' || confirm !== slug ? null : { ...place, reason: reason.trim(), confirm };
  return (
    <>
      {status === 'active' ? (
        <FormDialog
          label={o.suspend}
          title={o.suspendTitle}
          submit={o.suspendSubmit}
          tone="danger"
          intro={<p>{o.suspendText}</p>}
          fields={sure}
          toContent={toContent}
          write={(content) => api.suspendOrganization(content)}
          onDone={refresh}
        />
      ) : (
        <ActionDialog
          label={o.resume}
          title={o.resumeTitle}
          submit={o.resumeSubmit}
          content={place}
          write={(content) => api.resumeOrganization(content)}
          onDone={refresh}
        />
      )}
      {status === 'deleting' ? (
        <FormDialog
          label={o.purge}
          title={o.purgeTitle}
          submit={o.purgeSubmit}
          tone="danger"
          intro={<p>{o.purgeText}</p>}
          fields={sure}
          toContent={toContent}
          write={async (content, options) => setPurge(await api.purgeOrganization(content, options))}
          onDone={refresh}
        />
      ) : (
        <ActionDialog
          label={o.delete}
          title={o.deleteTitle}
          submit={o.deleteSubmit}
          tone="danger"
          content={place}
          write={(content) => api.deleteOrganization(content)}
          onDone={refresh}
        >
          <p>{o.deleteText}</p>
        </ActionDialog>
      )}
      {purge !== null && <Notice tone="plain" text={o.purging(purge.status)} />}
    </>
  );
}
