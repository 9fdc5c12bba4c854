import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { etagOf } from '@longhaul/client';
import { useMay, useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useScopeField } from './create-account.tsx';
import { peopleTexts as p } from './messages.ts';
import { asRole, useRoleOptions } from './roles.ts';

interface PersonActionsProps {
  readonly user: Views['UserView'];
  readonly workspaceId: string;
}

/** What administrators and owners may do about somebody else's account. */
export function PersonActions({ user, workspaceId }: PersonActionsProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const isOwner = useMay('owner');
  const { role, scope } = useMe();
  // An operator would have to name who hands over, and does it for them.
  const mayHandOver = role === 'owner' && scope === 'organization';
  const refresh = () => void Promise.all(['user', 'users', 'members'].map((key) => queries.invalidateQueries({ queryKey: [key] })));
  const place = { user_id: user.id };
  return (
    <div className="actions">
      <Rename user={user} onDone={refresh} />
      <ChangeRole user={user} workspaceId={workspaceId} onDone={refresh} />
      {user.is_active ? (
        <ActionDialog
          label={p.deactivate}
          title={p.deactivateTitle}
          submit={p.deactivateSubmit}
          tone="danger"
          content={place}
          write={(content) => api.deactivateUser(content)}
          onDone={refresh}
        >
          <p>{p.deactivateText}</p>
        </ActionDialog>
      ) : (
        <ActionDialog
          label={p.reactivate}
          title={p.reactivateTitle}
          submit={p.reactivateSubmit}
          content={place}
          write={(content) => api.reactivateUser(content)}
          onDone={refresh}
        />
      )}
      <ActionDialog
        label={p.revokeSessions}
        title={p.revokeSessionsTitle}
        submit={p.revokeSessionsSubmit}
        tone="danger"
        content={place}
        write={(content) => api.revokeUserSessions(content)}
      >
        <p>{p.revokeSessionsText}</p>
      </ActionDialog>
      {mayHandOver && user.organization_id !== null && (
        <ActionDialog
          label={p.transfer}
          title={p.transferTitle}
          submit={p.transferSubmit}
          tone="danger"
          content={{ ...place, organization_id: user.organization_id }}
          write={(content) => api.transferOwnership(content)}
          onDone={() => void queries.invalidateQueries()}
        >
          <p>{p.transferText}</p>
        </ActionDialog>
      )}
      {isOwner && (
        <ActionDialog
          label={p.delete}
          title={p.deleteTitle}
          submit={p.deleteSubmit}
          tone="danger"
          content={place}
          write={(content) => api.deleteUser(content)}
          onDone={() => void navigate({ to: '/w/$workspaceId/people', params: { workspaceId } })}
        >
          <p>{p.deleteText}</p>
        </ActionDialog>
      )}
    </div>
  );
}

interface FormProps {
  readonly user: Views['UserView'];
  readonly onDone: () => void;
}

function Rename({ user, onDone }: FormProps) {
  return (
    <FormDialog
      label={p.rename}
      title={p.renameTitle}
      submit={t.actions.save}
      fields={[{ name: 'full_name', label: p.fullName }]}
      read={async () => {
        const now = await api.getUser({ user_id: user.id });
        return { values: { full_name: now.full_name ?? '' }, etag: etagOf(now) };
      }}
      toContent={({ full_name = '' }) => ({ user_id: user.id, full_name: full_name.trim() === '' ? null : full_name.trim() })}
      write={(content, options) => api.updateUser(content, options)}
      onDone={onDone}
    />
  );
}

function ChangeRole({ user, workspaceId, onDone }: FormProps & { readonly workspaceId: string }) {
  const options = useRoleOptions();
  const scopeField = useScopeField();
  return (
    <FormDialog
      label={p.setRole}
      title={p.setRoleTitle}
      submit={t.actions.save}
      intro={<p className="hint">{p.roleHints}</p>}
      fields={[{ kind: 'choice', name: 'role', label: p.role, options }, scopeField]}
      initial={{ role: user.role, scope: user.scope }}
      toContent={({ role, scope }) => {
        const chosen = asRole(role);
        if (chosen === null) return null;
        return {
          user_id: user.id,
          role: chosen,
          ...(scope === 'organization'
            ? { scope: 'organization' as const }
            : { scope: 'workspace' as const, workspace_id: user.workspace_id ?? workspaceId }),
        };
      }}
      write={(content) => api.setUserRole(content)}
      onDone={onDone}
    />
  );
}
