import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { workspacesQuery } from '../app/queries.ts';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { organizationTexts as o } from './messages.ts';
import { Rules } from './rules.tsx';
import { settingsRoute } from './routes.ts';
import { Secrets } from './secrets.tsx';
import { useMayChangeOrganization } from './use-may-change.ts';
import { Workspaces } from './workspaces.tsx';

/** The organization of the workspace that is open: its name, rules, workspaces and secrets. */
export function SettingsPage() {
  const { workspaceId } = settingsRoute.useParams();
  const isAdmin = useMay('admin');
  const isMember = useMay('member');
  const workspaces = useSuspenseQuery(workspacesQuery).data.items;
  const organizationId = workspaces.find(({ id }) => id === workspaceId)?.organization_id;
  if (organizationId === undefined) return null;
  return (
    <Page title={o.title}>
      <Organization organizationId={organizationId} />
      {isAdmin && <Rules organizationId={organizationId} />}
      <Workspaces organizationId={organizationId} />
      {isMember && <Secrets workspaceId={workspaceId} />}
    </Page>
  );
}

function Organization({ organizationId }: { readonly organizationId: string }) {
  const queries = useQueryClient();
  const mayWrite = useMayChangeOrganization();
  const organization = useQuery({
    queryKey: ['organization', organizationId],
    queryFn: ({ signal }) => api.getOrganization({ organization_id: organizationId }, { signal }),
  });
  const { data } = organization;
  const edit = mayWrite && (
    <FormDialog
      label={o.edit}
      title={o.editOrganization}
      submit={t.actions.save}
      fields={[
        { name: 'name', label: o.name },
        { name: 'slug', label: o.slug },
        { name: 'timezone', label: o.timezone },
      ]}
      read={async () => {
        const now = await api.getOrganization({ organization_id: organizationId });
        return { values: { name: now.name, slug: now.slug, timezone: now.timezone }, etag: etagOf(now) };
      }}
      toContent={({ name = '', slug = '', timezone = '' }) =>
        [name, slug, timezone].some((text) => text.trim() === '')
          ? null
          : { organization_id: organizationId, name: name.trim(), slug: slug.trim(), timezone: timezone.trim() }
      }
      write={(content, options) => api.updateOrganization(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['organization'] })}
    />
  );
  return (
    <Section title={o.organization} actions={edit}>
      {organization.error !== null && <Fault error={organization.error} onRetry={() => void organization.refetch()} />}
      {data !== undefined && (
        <Facts
          facts={[
            [o.name, data.name],
            [o.slug, data.slug],
            [o.timezone, data.timezone],
            [o.status, data.status],
          ]}
        />
      )}
    </Section>
  );
}
