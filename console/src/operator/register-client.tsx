import { useQueryClient } from '@tanstack/react-query';
import { api, type Views } from '../app/api.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { Values } from '../ui/form-fields.tsx';
import { operatorTexts as o } from './messages.ts';

const methods = ['none', 'client_secret_basic', 'client_secret_post'] as const;
const roles = ['viewer', 'member', 'admin'] as const;

/** An application that asks people, or one that acts for itself. */
export function RegisterClient({ onSecret }: { readonly onSecret: (secret: string | null) => void }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={o.addClient}
      title={o.addClientTitle}
      submit={o.addClientTitle}
      isPrimary
      fields={[
        { name: 'client_name', label: o.clientName },
        {
          kind: 'choice',
          name: 'grant',
          label: o.grant,
          options: [
            { id: 'code', label: o.grants.code },
            { id: 'credentials', label: o.grants.credentials },
          ],
        },
        { kind: 'area', name: 'redirect_uris', label: o.redirects, isMono: true },
        {
          kind: 'choice',
          name: 'token_endpoint_auth_method',
          label: o.authMethod,
          options: methods.map((id) => ({ id, label: id.replaceAll('_', ' ') })),
        },
        { name: 'scope', label: o.scope },
        { name: 'organization_id', label: o.clientOrganization },
        { kind: 'choice', name: 'role', label: o.clientRole, options: roles.map((id) => ({ id, label: id })) },
      ]}
      initial={{ grant: 'code', token_endpoint_auth_method: 'none', role: 'member' }}
      toContent={toContent}
      write={async (content, options) => onSecret((await api.createOauthClient(content, options)).client_secret)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['oauth-clients'] })}
    />
  );
}

function toContent(values: Values): Views['OauthClientCreate'] | null {
  const text = (name: string) => values[name]?.trim() ?? '';
  const redirects = text('redirect_uris').split(/\s+/).filter(Boolean);
  const isOwn = values['grant'] === 'credentials';
  if (text('client_name') === '' || (isOwn ? text('organization_id') === '' : redirects.length === 0)) return null;
  return {
    client_name: text('client_name'),
    ...(redirects.length > 0 && { redirect_uris: redirects }),
    token_endpoint_auth_method: methods.find((one) => one === values['token_endpoint_auth_method']) ?? 'none',
    grant_types: isOwn ? ['client_credentials'] : ['authorization_code', 'refresh_token'],
    ...(text('scope') !== '' && { scope: text('scope') }),
    ...(isOwn && { organization_id: text('organization_id'), role: roles.find((one) => one === values['role']) ?? 'member' }),
  };
}
