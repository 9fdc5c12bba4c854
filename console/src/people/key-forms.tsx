import { useQueryClient } from '@tanstack/react-query';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { peopleTexts as p } from './messages.ts';
import { useScopeField } from './create-account.tsx';

interface MakeKeyProps {
  readonly workspaceId: string;
  readonly onPlaintext: (plaintext: string) => void;
}

const keyRoles = ['viewer', 'member', 'admin'] as const;

/** A new key. A lost answer is asked for again under the same Idempotency-Key, which makes no second one. */
export function MakeKey({ workspaceId, onPlaintext }: MakeKeyProps) {
  const queries = useQueryClient();
  const scopeField = useScopeField();
  return (
    <FormDialog<Views['ServiceKeyCreate']>
      label={p.addKey}
      title={p.addKeyTitle}
      submit={p.addKeySubmit}
      isPrimary
      fields={[
        { name: 'name', label: p.keyName },
        { kind: 'choice', name: 'role', label: p.role, options: keyRoles.map((id) => ({ id, label: p.roles[id] ?? id })) },
        scopeField,
        { name: 'scopes', label: p.keyScopes },
        { kind: 'day', name: 'expires_at', label: p.keyExpires },
      ]}
      initial={{ role: 'member', scope: 'workspace' }}
      toContent={({ name = '', role, scope, scopes = '', expires_at = '' }) => {
        const chosen = keyRoles.find((one) => one === role);
        if (name.trim() === '' || chosen === undefined) return null;
        const words = scopes.split(/\s+/).filter(Boolean) as NonNullable<Views['ServiceKeyCreate']['scopes']>; // the server knows the names
        return {
          name: name.trim(),
          role: chosen,
          ...(scope === 'organization' ? { scope: 'organization' as const } : { scope: 'workspace' as const, workspace_id: workspaceId }),
          ...(words.length > 0 && { scopes: words }),
          ...(expires_at !== '' && { expires_at: new Date(`${expires_at}T00:00:00`).toISOString() }),
        };
      }}
      write={async (content, options) => onPlaintext((await api.createServiceKey(content, options)).plaintext)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['service-keys'] })}
    />
  );
}

interface KeyActionsProps {
  readonly serviceKey: Views['ServiceKeyView'];
  readonly onPlaintext: (plaintext: string) => void;
}

export function KeyActions({ serviceKey: { id, revoked_at }, onPlaintext }: KeyActionsProps) {
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: ['service-keys'] });
  if (revoked_at !== null) return <span className="hint">{p.revoked}</span>;
  return (
    <div className="actions">
      <ActionDialog
        label={p.rotate}
        title={p.rotateTitle}
        submit={p.rotateSubmit}
        tone="danger"
        content={{ key_id: id }}
        write={async (content) => onPlaintext((await api.rotateServiceKey(content)).plaintext)}
        onDone={refresh}
      >
        <p>{p.rotateText}</p>
      </ActionDialog>
      <ActionDialog
        label={p.revokeKey}
        title={p.revokeKeyTitle}
        submit={p.revokeKeySubmit}
        tone="danger"
        content={{ key_id: id }}
        write={(content) => api.revokeServiceKey(content)}
        onDone={refresh}
      >
        <p>{p.revokeKeyText}</p>
      </ActionDialog>
    </div>
  );
}
