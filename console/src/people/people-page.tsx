import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { Choice } from '../ui/choice.tsx';
import { Filters, ListState, Page, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { accountColumns, memberColumns } from './people-columns.tsx';
import { CreateAccount } from './create-account.tsx';
import { GiveAccess } from './grants.tsx';
import { peopleTexts as p } from './messages.ts';
import { tenantRoles } from './roles.ts';
import { peopleRoute } from './routes.ts';

type Filter = ReturnType<typeof peopleRoute.useSearch>;

/** Who works in this workspace; for administrators also all accounts that they see. */
export function PeoplePage() {
  const { workspaceId } = peopleRoute.useParams();
  const search = peopleRoute.useSearch();
  const navigate = useNavigate();
  const isAdmin = useMay('admin');
  const set = (name: keyof Filter, value: string) =>
    void navigate({
      to: '/w/$workspaceId/people',
      params: { workspaceId },
      search: { ...search, [name]: value || undefined },
      replace: true,
    });
  return (
    <Page
      title={p.people}
      actions={
        isAdmin && (
          <>
            <GiveAccess workspaceId={workspaceId} />
            <CreateAccount workspaceId={workspaceId} />
          </>
        )
      }
    >
      <Filters label={p.filters}>
        <TypedFilter label={p.search} value={search.q ?? ''} onSettle={(value) => set('q', value)} />
        <Choice
          label={p.role}
          value={search.role ?? ''}
          options={[{ id: '', label: p.any }, ...tenantRoles.map((id) => ({ id, label: p.roles[id] ?? id }))]}
          onChange={(value) => set('role', value)}
        />
        <Choice
          label={p.columns.state}
          value={search.active ?? ''}
          options={[
            { id: '', label: p.any },
            { id: 'true', label: p.active },
            { id: 'false', label: p.inactive },
          ]}
          onChange={(value) => set('active', value)}
        />
      </Filters>
      <Members workspaceId={workspaceId} filter={search} />
      {isAdmin && <Accounts workspaceId={workspaceId} filter={search} />}
    </Page>
  );
}

interface ListProps {
  readonly workspaceId: string;
  readonly filter: Filter;
}

function toQuery({ q, role, active }: Filter) {
  const known = oneOf(tenantRoles, role);
  return { ...(q !== undefined && { q }), ...(known && { role: known }), ...(active !== undefined && { is_active: active === 'true' }) };
}

function Members({ workspaceId, filter }: ListProps) {
  const mayWrite = useMay('admin');
  const key = JSON.stringify(toQuery(filter));
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listWorkspaceMembers(
        { ...(JSON.parse(key) as ReturnType<typeof toQuery>), workspace_id: workspaceId, cursor, limit: 50 },
        { signal },
      ),
    [key, workspaceId],
  );
  const list = usePagedList<Views['WorkspaceMemberView']>({ queryKey: ['members', workspaceId, filter], fetchPage });
  return (
    <Section title={p.members}>
      <p className="hint">{p.roleHints}</p>
      {list.rows.length > 0 && (
        <Table label={p.members} columns={memberColumns(workspaceId, mayWrite)} rows={list.rows} keyOf={({ user_id }) => user_id} />
      )}
      <ListState list={list} isFiltered={Object.keys(filter).length > 0} />
    </Section>
  );
}

function Accounts({ workspaceId, filter }: ListProps) {
  const key = JSON.stringify(toQuery(filter));
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listUsers({ ...(JSON.parse(key) as ReturnType<typeof toQuery>), cursor, limit: 50 }, { signal }),
    [key],
  );
  const list = usePagedList<Views['UserView']>({ queryKey: ['users', filter], fetchPage });
  return (
    <Section title={p.accounts}>
      {list.rows.length > 0 && <Table label={p.accounts} columns={accountColumns(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={Object.keys(filter).length > 0} />
    </Section>
  );
}
