import Type, { type Static } from 'typebox';
import { oauthClientKinds, tokenEndpointAuthMethods } from '../../db/oauth/oauth-client.entity.ts';
import type { ShownClient } from '../../db/oauth/clients.ts';
import { iso } from '../../db/sql.ts';
import { closed, idOf, listOf, nullable, oneOf, Q, text, Timestamp } from '../http/input/schema.ts';

const clientRoles = ['viewer', 'member', 'admin'] as const;
const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'] as const;
const RedirectUri = text(2_048, { description: 'Compared exactly; on a loopback address the port can differ' });

export const OauthClientParams = closed({ client_id: text(1_024, { minLength: 1, description: 'Public id of the client' }) });

export const OauthClientQuery = closed({
  q: Type.Optional(Q),
  kind: Type.Optional(oneOf(oauthClientKinds)),
});

export const OauthClientCreate = closed(
  {
    client_name: text(200, { minLength: 1 }),
    redirect_uris: Type.Optional(listOf(RedirectUri, { maxItems: 10, uniqueItems: true, description: 'Required for authorization_code' })),
    token_endpoint_auth_method: Type.Optional(oneOf(tokenEndpointAuthMethods, { default: 'client_secret_basic' })),
    grant_types: Type.Optional(
      listOf(oneOf(grantTypes), { minItems: 1, maxItems: 3, uniqueItems: true, default: ['authorization_code', 'refresh_token'] }),
    ),
    scope: Type.Optional(nullable(text(400, { description: 'The scopes it can request; defaults to all' }))),
    organization_id: Type.Optional(nullable(idOf('Organization', 'The organization in which client_credentials acts'))),
    workspace_id: Type.Optional(nullable(idOf('Workspace', 'Restricts client_credentials to one workspace'))),
    role: Type.Optional(nullable(oneOf(clientRoles, { description: 'Required for client_credentials' }))),
  },
  { $id: 'OauthClientCreate' },
);

const shown = {
  client_id: text(1_024),
  kind: oneOf(oauthClientKinds),
  client_name: text(300),
  redirect_uris: listOf(text(2_048), { maxItems: 10 }),
  token_endpoint_auth_method: oneOf(tokenEndpointAuthMethods),
  grant_types: listOf(text(100), { maxItems: 10 }),
  scope: nullable(text(1_000)),
  organization_id: nullable(idOf('Organization')),
  workspace_id: nullable(idOf('Workspace')),
  role: nullable(oneOf(clientRoles)),
  created_at: Timestamp,
  updated_at: Timestamp,
  last_used_at: nullable(Timestamp),
  secret_rotated_at: nullable(Timestamp),
};

export const OauthClientView = closed(shown, { $id: 'OauthClientView', description: 'A client, without its secret' });

export const OauthClientSecretView = closed(
  { ...shown, client_secret: nullable(text(100, { description: 'null for public clients' })) },
  { $id: 'OauthClientSecretView', description: 'A client with its secret, which is shown only once' },
);

export function toOauthClientView(client: ShownClient): Static<typeof OauthClientView> {
  return {
    client_id: client.clientId,
    kind: client.kind,
    client_name: client.clientName,
    redirect_uris: [...client.redirectUris],
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    grant_types: [...client.grantTypes],
    scope: client.scope,
    organization_id: client.organizationId,
    workspace_id: client.workspaceId,
    role: client.role,
    created_at: iso(client.createdAt),
    updated_at: iso(client.updatedAt),
    last_used_at: iso(client.lastUsedAt),
    secret_rotated_at: iso(client.secretRotatedAt),
  };
}

export function toOauthClientSecretView(client: ShownClient, secret: string | null): Static<typeof OauthClientSecretView> {
  const { client_id, kind, client_name, redirect_uris, token_endpoint_auth_method, grant_types, scope, ...rest } =
    toOauthClientView(client);
  const { organization_id, workspace_id, role, created_at, updated_at, last_used_at, secret_rotated_at } = rest;

  return {
    client_id,
    kind,
    client_name,
    redirect_uris,
    token_endpoint_auth_method,
    grant_types,
    scope,
    organization_id,
    workspace_id,
    role,
    created_at,
    updated_at,
    last_used_at,
    secret_rotated_at,
    client_secret: secret,
  };
}
