import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { ActiveState } from '../triggers/trigger-state.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { reviewTexts as r } from './messages.ts';
import { AddPlaybook } from './playbook-forms.tsx';
import { playbooksRoute } from './routes.ts';

/** How reviews are done. */
export function PlaybooksPage() {
  const { workspaceId } = playbooksRoute.useParams();
  const { q } = playbooksRoute.useSearch();
  const navigate = useNavigate();
  const mayWrite = useMay('admin');
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listReviewPlaybooks({ ...(q !== undefined && { q }), cursor, limit: 50 }, { signal }),
    [q],
  );
  const list = usePagedList<Views['ReviewPlaybookView']>({ queryKey: ['playbooks', q], fetchPage });
  return (
    <Page title={r.playbooks} actions={mayWrite && <AddPlaybook workspaceId={workspaceId} />}>
      <Filters label={r.filters}>
        <TypedFilter
          label={r.search}
          value={q ?? ''}
          onSettle={(value) =>
            void navigate({
              to: '/w/$workspaceId/review-playbooks',
              params: { workspaceId },
              search: value === '' ? {} : { q: value },
              replace: true,
            })
          }
        />
      </Filters>
      {list.rows.length > 0 && <Table label={r.playbooks} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={q !== undefined} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Views['ReviewPlaybookView']>[] {
  return [
    {
      id: 'name',
      title: r.name,
      cell: ({ id, name }) => (
        <Link to="/w/$workspaceId/review-playbooks/$playbookId" params={{ workspaceId, playbookId: id }}>
          {name}
        </Link>
      ),
    },
    { id: 'scope', title: r.playbook.scope, cell: ({ scope }) => r.playbook.scopes[scope] },
    { id: 'default', title: r.playbook.isDefault, cell: ({ is_default }) => (is_default ? '✓' : '–') },
    { id: 'revision', title: r.playbook.revision, align: 'end', cell: ({ revision_number }) => revision_number },
    { id: 'state', title: r.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
  ];
}
