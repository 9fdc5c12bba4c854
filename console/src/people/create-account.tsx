import { useQueryClient } from '@tanstack/react-query';
import { useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField } from '../ui/form-fields.tsx';
import { peopleTexts as p } from './messages.ts';
import { asRole, useRoleOptions } from './roles.ts';

/** Where a new account or invitation belongs: only who belongs to the organization may choose it whole. */
export function useScopeField(): FormField {
  const { scope } = useMe();
  const here = { id: 'workspace', label: p.thisWorkspace };
  const whole = { id: 'organization', label: p.wholeOrganization };
  return { kind: 'choice', name: 'scope', label: p.scope, options: scope === 'workspace' ? [here] : [here, whole] };
}

/** An account without an invitation. */
export function CreateAccount({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const options = useRoleOptions();
  const scopeField = useScopeField();
  return (
    <FormDialog<Views['UserCreate']>
      label={p.createUser}
      title={p.createUserTitle}
      submit={p.createUserTitle}
      intro={<p>{p.createUserText}</p>}
      fields={[
        { kind: 'email', name: 'email', label: p.email },
        { name: 'full_name', label: p.fullName },
        { kind: 'choice', name: 'role', label: p.role, options },
        scopeField,
        { kind: 'password', name: 'password', label: p.password, autoComplete: 'new-password' },
      ]}
      initial={{ role: 'member', scope: 'workspace' }}
      toContent={({ email = '', full_name = '', role, scope, password = '' }) => {
        const chosen = asRole(role);
        if (email.trim() === '' || chosen === null) return null;
        return {
          email: email.trim(),
          role: chosen,
          ...(full_name.trim() !== '' && { full_name: full_name.trim() }),
          ...(password !== '' && { password }),
          ...(scope === 'organization' ? { scope: 'organization' as const } : { scope: 'workspace' as const, workspace_id: workspaceId }),
        };
      }}
      write={(content, options) => api.createUser(content, options)}
      onDone={() =>
        void Promise.all([queries.invalidateQueries({ queryKey: ['users'] }), queries.invalidateQueries({ queryKey: ['members'] })])
      }
    />
  );
}
