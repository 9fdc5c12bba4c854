import { Link } from '@tanstack/react-router';
import type { Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { StateWord } from '../ui/state-word.tsx';
import { Time } from '../ui/time.tsx';
import { GrantActions } from './grants.tsx';
import { peopleTexts as p } from './messages.ts';

type Member = Views['WorkspaceMemberView'];
type User = Views['UserView'];

export function ActiveState({ isActive }: { readonly isActive: boolean }) {
  return <StateWord tone={isActive ? 'good' : 'idle'} text={isActive ? p.active : p.inactive} />;
}

export function memberColumns(workspaceId: string, mayWrite: boolean): Column<Member>[] {
  const { columns } = p;
  const shown: Column<Member>[] = [
    { id: 'name', title: columns.name, cell: ({ full_name, email }) => full_name ?? email },
    { id: 'email', title: columns.email, cell: ({ email }) => email },
    { id: 'role', title: columns.role, cell: ({ role }) => p.roles[role] ?? role },
    { id: 'source', title: columns.source, cell: ({ source }) => p.sources[source] },
    { id: 'state', title: columns.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
  ];
  if (!mayWrite) return shown;
  return [
    ...shown,
    {
      id: 'actions',
      title: columns.actions,
      cell: (row) => row.source === 'grant' && <GrantActions workspaceId={workspaceId} member={row} />,
    },
  ];
}

export function accountColumns(workspaceId: string): Column<User>[] {
  const { columns } = p;
  return [
    {
      id: 'name',
      title: columns.name,
      cell: ({ id, full_name, email }) => (
        <Link to="/w/$workspaceId/people/$userId" params={{ workspaceId, userId: id }}>
          {full_name ?? email}
        </Link>
      ),
    },
    { id: 'email', title: columns.email, cell: ({ email }) => email },
    { id: 'role', title: columns.role, cell: ({ role }) => p.roles[role] ?? role },
    { id: 'scope', title: columns.scope, cell: ({ scope }) => p.scopes[scope] },
    { id: 'last', title: columns.last, cell: ({ last_login_at }) => (last_login_at === null ? p.never : <Time at={last_login_at} />) },
    { id: 'state', title: columns.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
  ];
}
