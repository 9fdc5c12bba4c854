import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { t } from '../messages/en.ts';
import { peopleTexts as p } from './messages.ts';
import { asRole, useRoleOptions } from './roles.ts';

/** Lets somebody of another workspace work here. */
export function GiveAccess({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const options = useRoleOptions();
  const users = useQuery({
    queryKey: ['users', 'to-grant'],
    queryFn: ({ signal }) => api.listUsers({ scope: 'workspace', is_active: true, limit: 200 }, { signal }),
  });
  const others = users.data?.items.filter(({ workspace_id }) => workspace_id !== workspaceId) ?? [];
  return (
    <FormDialog
      label={p.grant}
      title={p.grantTitle}
      submit={p.grantSubmit}
      intro={<p>{p.grantText}</p>}
      disabledBecause={others.length === 0 ? p.nobodyToGrant : null}
      fields={[
        {
          kind: 'choice',
          name: 'user_id',
          label: p.grantWho,
          options: others.map(({ id, full_name, email }) => ({ id, label: full_name ?? email })),
        },
        { kind: 'choice', name: 'role', label: p.role, options },
      ]}
      initial={{ user_id: others[0]?.id ?? '', role: 'viewer' }}
      toContent={({ user_id = '', role }) => {
        const chosen = asRole(role);
        return user_id === '' || chosen === null ? null : { user_id, role: chosen, workspace_id: workspaceId };
      }}
      write={(content) => api.setWorkspaceMember(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['members', workspaceId] })}
    />
  );
}

/** Changes or ends the access of somebody who was given it. */
export function GrantActions({ workspaceId, member }: { readonly workspaceId: string; readonly member: Views['WorkspaceMemberView'] }) {
  const queries = useQueryClient();
  const options = useRoleOptions();
  const place = { workspace_id: workspaceId, user_id: member.user_id };
  const refresh = () => void queries.invalidateQueries({ queryKey: ['members', workspaceId] });
  return (
    <div className="actions">
      <FormDialog
        label={p.changeGrant}
        title={p.changeGrantTitle}
        submit={t.actions.save}
        fields={[{ kind: 'choice', name: 'role', label: p.role, options }]}
        initial={{ role: member.role }}
        toContent={({ role }) => {
          const chosen = asRole(role);
          return chosen && { ...place, role: chosen };
        }}
        write={(content) => api.setWorkspaceMember(content)}
        onDone={refresh}
      />
      <ActionDialog
        label={p.removeGrant}
        title={p.removeGrantTitle}
        submit={p.removeGrantSubmit}
        tone="danger"
        content={place}
        write={(content) => api.removeWorkspaceMember(content)}
        onDone={refresh}
      />
    </div>
  );
}
