import type { Static } from 'typebox';
import type { NewClient } from '../../db/oauth/write-clients.ts';
import { findRowScopeOfClient } from '../../db/oauth/client-row-scope.ts';
import { faultOfRedirectUri } from '../../domain/oauth/redirect-uri.ts';
import { refuseNarrowed, workspacesOf } from '../../db/caller-scope.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { oauthScopes } from '../http/credentials/scopes.ts';
import type { OauthClientCreate } from './oauth-client.schema.ts';

type Body = Static<typeof OauthClientCreate>;
type CheckedClient = Omit<NewClient, 'clientId' | 'kind' | 'secretHash'>;

/** Validates an operator's new client. Throws 422 at the field that doesn't match the others. */
export function checkNewClient(body: Body): CheckedClient {
  const grantTypes = body.grant_types ?? ['authorization_code', 'refresh_token'];
  const method = body.token_endpoint_auth_method ?? 'client_secret_basic';
  const redirectUris = body.redirect_uris ?? [];

  redirectUris.forEach((uri, index) => {
    const fault = faultOfRedirectUri(uri);
    if (fault !== null) throw invalid(`/redirect_uris/${index}`, 'redirect_uri', fault);
  });
  if (grantTypes.includes('authorization_code') && redirectUris.length === 0) {
    throw invalid('/redirect_uris', 'required', 'is required for authorization_code');
  }
  if (grantTypes.includes('refresh_token') && !grantTypes.includes('authorization_code')) {
    throw invalid('/grant_types', 'range', 'refresh_token requires authorization_code');
  }
  if (grantTypes.includes('client_credentials')) checkOwnGrant(body, method);
  else refuseRowScope(body);

  return {
    clientName: body.client_name,
    redirectUris,
    tokenEndpointAuthMethod: method,
    grantTypes,
    scope: checkScope(body.scope ?? null),
    organizationId: body.organization_id ?? null,
    workspaceId: body.workspace_id ?? null,
    role: body.role ?? null,
  };
}

/**
 * Where the client acts by itself, as it is in the database. Throws 422 `reference` for a place that isn't there, 423 never: a client may wait. A
 * narrowed operator makes clients of the view only: 403 for one of no organization (`narrowed`) or of all of it (`scope_too_wide`).
 */
export async function readRowScope(ctx: Ctx, client: CheckedClient): Promise<Pick<NewClient, 'organizationId' | 'workspaceId'>> {
  const { organizationId = null, workspaceId = null } = client;
  if (organizationId === null) {
    refuseNarrowed(ctx.caller);
    return { organizationId, workspaceId };
  }
  if (workspaceId === null && workspacesOf(ctx.caller) !== null) throw fail('role_insufficient', { reason: 'scope_too_wide' });
  const found = await findRowScopeOfClient(ctx, { organizationId, workspaceId });

  if (!found.hasOrganization) throw invalid('/organization_id', 'reference', 'does not refer to an existing organization');
  if (workspaceId !== null && !found.hasWorkspace) throw invalid('/workspace_id', 'reference', 'does not refer to an existing workspace');
  return { organizationId, workspaceId };
}

function checkOwnGrant(body: Body, method: string): void {
  if (method === 'none') throw invalid('/token_endpoint_auth_method', 'range', 'client_credentials requires a client with a secret');
  if (!body.organization_id) throw invalid('/organization_id', 'required', 'is required for client_credentials');
  if (!body.role) throw invalid('/role', 'required', 'is required for client_credentials');
}

// Said for nothing, they would look like a bound that isn't there.
function refuseRowScope(body: Body): void {
  for (const name of ['organization_id', 'workspace_id', 'role'] as const) {
    if (body[name]) throw invalid(`/${name}`, 'range', 'is only allowed for client_credentials');
  }
}

function checkScope(scope: string | null): string | null {
  if (scope === null || scope.trim() === '') return null;
  const names = [...new Set(scope.trim().split(/ +/))];

  if (names.some((name) => !oauthScopes.has(name))) throw invalid('/scope', 'enum', 'contains an unknown scope');
  return names.join(' ');
}
