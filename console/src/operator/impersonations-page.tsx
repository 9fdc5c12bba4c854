import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, type Views } from '../app/api.ts';
import { impersonation as acting } from '../app/standing.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { operatorTexts as o } from './messages.ts';

type Impersonation = Views['ImpersonationView'];

/** Who acted as whom and why, and the way to do so. */
export function ImpersonationsPage() {
  const people = useQuery({
    queryKey: ['users', 'to-impersonate'],
    queryFn: ({ signal }) => api.listUsers({ is_active: true, limit: 200 }, { signal }),
    staleTime: 10_000,
  });
  const users = people.data?.items ?? [];
  const list = usePagedList<Impersonation>({
    queryKey: ['impersonations'],
    fetchPage: (cursor, signal) => api.listImpersonations({ cursor, limit: 50 }, { signal }),
  });
  const nameOf = (id: string) => users.find((user) => user.id === id)?.email ?? `…${id.slice(-12)}`;
  return (
    <Page title={o.impersonations} actions={<Impersonate users={users} />}>
      <p className="hint">{o.impersonationsText}</p>
      {list.rows.length > 0 && <Table label={o.impersonations} columns={columnsFor(nameOf)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Page>
  );
}

function Impersonate({ users }: { readonly users: readonly Views['UserView'][] }) {
  const navigate = useNavigate();
  const others = users.filter(({ role }) => role !== 'operator');
  return (
    <FormDialog<Views['ImpersonationStart']>
      label={o.impersonate}
      title={o.impersonateTitle}
      submit={o.impersonateSubmit}
      tone="danger"
      fields={[
        { name: 'reason', label: o.reason },
        {
          kind: 'choice',
          name: 'user_id',
          label: o.user,
          hint: o.userSearchHint,
          options: others.map(({ id, email, role }) => ({ id, label: `${email}, ${role}` })),
        },
        { name: 'minutes', label: o.minutes, inputMode: 'numeric' },
      ]}
      initial={{ minutes: '30', user_id: others[0]?.id ?? '' }}
      toContent={({ user_id = '', reason = '', minutes = '' }) =>
        user_id === '' || reason.trim() === '' || !/^\d+$/.test(minutes)
          ? null
          : { user_id, reason: reason.trim(), minutes: Number(minutes) }
      }
      write={async (content) => {
        const { impersonation, access_token } = await api.startImpersonation(content);
        const target = others.find(({ id }) => id === impersonation.target_user_id);
        acting.begin({ impersonation, token: access_token, name: target?.email ?? impersonation.target_user_id });
        await navigate({ to: '/' });
      }}
    />
  );
}

function columnsFor(nameOf: (id: string) => string): Column<Impersonation>[] {
  const { impersonation } = o;
  const isRunning = ({ ended_at, expires_at }: Impersonation) => ended_at === null && Date.parse(expires_at) > Date.now();
  return [
    { id: 'target', title: impersonation.target, cell: ({ target_user_id }) => nameOf(target_user_id) },
    { id: 'operator', title: impersonation.operator, cell: ({ operator_user_id }) => nameOf(operator_user_id) },
    { id: 'reason', title: impersonation.reason, cell: ({ reason }) => reason },
    { id: 'started', title: impersonation.started, cell: ({ started_at }) => <Time at={started_at} /> },
    { id: 'ends', title: impersonation.ends, cell: ({ ended_at, expires_at }) => <Time at={ended_at ?? expires_at} /> },
    {
      id: 'state',
      title: impersonation.state,
      cell: (row) => <StateWord tone={isRunning(row) ? 'live' : 'idle'} text={isRunning(row) ? o.running : o.ended} />,
    },
    { id: 'actions', title: impersonation.actions, cell: (row) => isRunning(row) && <End impersonation={row} /> },
  ];
}

function End({ impersonation: { id } }: { readonly impersonation: Impersonation }) {
  const queries = useQueryClient();
  return (
    <ActionDialog
      label={o.end}
      title={o.endTitle}
      submit={o.endSubmit}
      tone="danger"
      content={{ impersonation_id: id }}
      write={(content) => api.endImpersonation(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['impersonations'] })}
    />
  );
}
