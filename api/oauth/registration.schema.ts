import Type, { type Static } from 'typebox';
import type { FoundClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { oauthScopes } from '../http/credentials/scopes.ts';
import { closed, integer, listOf, oneOf, text, Url } from '../http/input/schema.ts';
import { authMethods } from './discovery.schema.ts';

export const RegistrationParams = closed({ client_id: text(1_024, { minLength: 1, description: 'As returned by the registration' }) });

/** RFC 7591 §3.2.1 and RFC 7592 §3. Absent members are left out, since strict clients refuse null. */
export const OauthClientRegistrationView = closed(
  {
    client_id: text(1_024),
    client_id_issued_at: integer({ description: 'Unix seconds' }),
    client_secret: Type.Optional(text(100, { description: 'Only in the reply to the registration' })),
    client_secret_expires_at: Type.Optional(integer({ description: '0: never' })),
    registration_access_token: text(100),
    registration_client_uri: Url,
    redirect_uris: listOf(text(2_048), { maxItems: 10 }),
    client_name: Type.Optional(text(300)),
    token_endpoint_auth_method: oneOf(authMethods),
    grant_types: listOf(text(100), { maxItems: 10 }),
    response_types: listOf(oneOf(['code']), { maxItems: 1 }),
    scope: text(1_000),
  },
  { $id: 'OauthClientRegistrationView', description: 'A registered client' },
);

type Registered = Pick<FoundClient, 'clientId' | 'clientName' | 'redirectUris' | 'authMethod' | 'grantTypes' | 'scope'>;

export function toRegistrationView(
  client: Registered,
  { publicUrl, issuedAt, token, secret }: { publicUrl: string; issuedAt: Date | string; token: string; secret: string | null },
): Static<typeof OauthClientRegistrationView> {
  return {
    client_id: client.clientId,
    client_id_issued_at: Math.floor(new Date(issuedAt).getTime() / 1_000),
    ...(secret === null ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
    registration_access_token: token,
    registration_client_uri: `${publicUrl}/oauth/register/${client.clientId}`,
    redirect_uris: [...client.redirectUris],
    client_name: client.clientName,
    token_endpoint_auth_method: client.authMethod,
    grant_types: [...client.grantTypes],
    response_types: ['code'],
    scope: client.scope ?? [...oauthScopes.keys()].join(' '),
  };
}
