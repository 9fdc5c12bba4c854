import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { view } from '../app/standing.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { operatorTexts as o } from './messages.ts';
import { CreateOrganization, OrganizationActions } from './organization-forms.tsx';
import { organizationsRoute } from './routes.ts';

type Organization = Views['OrganizationView'];

/** All organizations of the deployment. */
export function OrganizationsPage() {
  const { workspaceId } = organizationsRoute.useParams();
  const { q } = organizationsRoute.useSearch();
  const navigate = useNavigate();
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listOrganizations({ ...(q !== undefined && { q }), cursor, limit: 50 }, { signal }),
    [q],
  );
  const list = usePagedList<Organization>({ queryKey: ['organizations', q], fetchPage });
  const look = ({ id, name }: Organization) => {
    view.set({ organizationId: id, name });
    void navigate({ to: '/' });
  };
  return (
    <Page title={o.organizations} actions={<CreateOrganization />}>
      <Filters label={o.filters}>
        <TypedFilter
          label={o.search}
          value={q ?? ''}
          onSettle={(value) =>
            void navigate({
              to: '/w/$workspaceId/operator/organizations',
              params: { workspaceId },
              search: value === '' ? {} : { q: value },
              replace: true,
            })
          }
        />
      </Filters>
      {list.rows.length > 0 && <Table label={o.organizations} columns={columnsFor(look)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={q !== undefined} />
    </Page>
  );
}

const tones = { active: 'good', suspended: 'warn', deleting: 'bad' } as const;

function columnsFor(look: (organization: Organization) => void): Column<Organization>[] {
  const { organization } = o;
  return [
    { id: 'name', title: organization.name, cell: ({ name }) => name },
    { id: 'slug', title: organization.slug, cell: ({ slug }) => slug },
    { id: 'status', title: organization.status, cell: ({ status }) => <StateWord tone={tones[status]} text={status} /> },
    { id: 'created', title: organization.created, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      id: 'actions',
      title: organization.actions,
      cell: (row) => (
        <div className="actions">
          <Button onPress={() => look(row)}>{o.viewAs}</Button>
          <OrganizationActions organization={row} />
        </div>
      ),
    },
  ];
}
