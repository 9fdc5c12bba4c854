import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useScopeField } from './create-account.tsx';
import { peopleTexts as p } from './messages.ts';
import { asRole, useRoleOptions } from './roles.ts';
import { invitationsRoute } from './routes.ts';

type Invitation = Views['InvitationView'];

const statuses = ['pending', 'accepted', 'revoked', 'expired'] as const;

/** Who was invited, and what came of it. */
export function InvitationsPage() {
  const { workspaceId } = invitationsRoute.useParams();
  const search = invitationsRoute.useSearch();
  const navigate = useNavigate();
  const status = oneOf(statuses, search.status);
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) => api.listInvitations({ ...(status && { status }), cursor, limit: 50 }, { signal }),
    [status],
  );
  const list = usePagedList<Invitation>({ queryKey: ['invitations', search], fetchPage });
  return (
    <Page title={p.invitations} actions={<Invite workspaceId={workspaceId} />}>
      <Filters label={p.filters}>
        <Choice
          label={p.status}
          value={status ?? ''}
          options={[{ id: '', label: p.any }, ...statuses.map((id) => ({ id, label: p.statuses[id] }))]}
          onChange={(value) =>
            void navigate({
              to: '/w/$workspaceId/invitations',
              params: { workspaceId },
              search: value === '' ? {} : { status: value },
              replace: true,
            })
          }
        />
      </Filters>
      {list.rows.length > 0 && <Table label={p.invitations} columns={columns} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={status !== undefined} />
    </Page>
  );
}

const tones = { pending: 'live', accepted: 'good', revoked: 'idle', expired: 'idle' } as const;

const columns: readonly Column<Invitation>[] = [
  { id: 'email', title: p.invitation.email, cell: ({ email }) => email },
  { id: 'role', title: p.invitation.role, cell: ({ role }) => p.roles[role] ?? role },
  { id: 'status', title: p.invitation.status, cell: ({ status }) => <StateWord tone={tones[status]} text={p.statuses[status]} /> },
  {
    id: 'sent',
    title: p.invitation.sent,
    cell: ({ sent_at, send_count }) =>
      sent_at === null ? (
        p.notSent
      ) : (
        <>
          <Time at={sent_at} /> <span className="hint">{p.sentTimes(send_count)}</span>
        </>
      ),
  },
  { id: 'expires', title: p.invitation.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { id: 'actions', title: p.invitation.actions, cell: (row) => <InvitationActions invitation={row} /> },
];

function Invite({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const options = useRoleOptions();
  const scopeField = useScopeField();
  return (
    <FormDialog<Views['InvitationCreate']>
      label={p.invite}
      title={p.inviteTitle}
      submit={p.inviteSubmit}
      isPrimary
      intro={<p>{p.inviteText}</p>}
      fields={[
        { kind: 'email', name: 'email', label: p.email },
        { kind: 'choice', name: 'role', label: p.role, options, hint: p.roleHints },
        scopeField,
      ]}
      initial={{ role: 'viewer', scope: 'workspace' }}
      toContent={({ email = '', role, scope }) => {
        const chosen = asRole(role);
        if (email.trim() === '' || chosen === null) return null;
        const place =
          scope === 'organization' ? { scope: 'organization' as const } : { scope: 'workspace' as const, workspace_id: workspaceId };
        return { email: email.trim(), role: chosen, ...place };
      }}
      write={(content, options) => api.createInvitation(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['invitations'] })}
    />
  );
}

function InvitationActions({ invitation: { id, status } }: { readonly invitation: Invitation }) {
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: ['invitations'] });
  if (status !== 'pending' && status !== 'expired') return null;
  return (
    <div className="actions">
      <ActionDialog
        label={p.resend}
        title={p.resendTitle}
        submit={p.resendSubmit}
        content={{ invitation_id: id }}
        write={(content) => api.resendInvitation(content)}
        onDone={refresh}
      >
        <p>{p.resendText}</p>
      </ActionDialog>
      <ActionDialog
        label={p.revokeInvitation}
        title={p.revokeInvitationTitle}
        submit={p.revokeInvitationSubmit}
        tone="danger"
        content={{ invitation_id: id }}
        write={(content) => api.revokeInvitation(content)}
        onDone={refresh}
      >
        <p>{p.revokeInvitationText}</p>
      </ActionDialog>
    </div>
  );
}
