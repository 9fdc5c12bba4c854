import type { Caller } from '../../../db/caller.ts';
import { findSession } from '../../../db/identity/lookup/credential-lookup.ts';
import { callerOfClient, callerOfGrant } from '../../../domain/identity/callers/oauth-caller.ts';
import { findClient } from '../../../db/identity/lookup/oauth-lookup.ts';
import { resourcesOf, type OauthClaims } from '../../../domain/identity/callers/oauth-tokens.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { idOrNull, narrow, type Delegation } from './delegation.ts';
import type { Deps } from '../operation/deps.ts';

/**
 * Returns the caller of an OAuth access token: a user within the scopes of the grant, or a client acting for itself. A token for another resource is 401,
 * like a token of another kind. Such a token never allows acting as another user.
 */
export async function authenticateOauthToken(
  deps: Deps,
  { token, delegation, resource }: { token: string; delegation: Delegation; resource: 'api' | 'mcp' },
): Promise<Caller> {
  const claims = await deps.identity.oauthTokens.verify(token);

  if (claims.resource !== resourcesOf(deps.env.publicUrl)[resource]) throw fail('credential_invalid');
  const caller = claims.sessionId === null ? await clientOf(deps, claims, delegation) : await userOf(deps, claims, delegation);

  if (delegation.actingUser.state !== 'absent') {
    throw fail('resource_forbidden', { reason: 'delegation_not_allowed', detail: 'X-Acting-User cannot be used with an OAuth token.' });
  }
  return caller;
}

async function userOf(deps: Deps, claims: OauthClaims, delegation: Delegation): Promise<Caller> {
  if (claims.sessionId === null) throw fail('credential_invalid');
  const found = await findSession(deps.db, {
    sessionId: claims.sessionId,
    userId: claims.subject,
    actingUserId: null,
    viewOrganizationId: idOrNull(delegation.viewOrganization),
    viewWorkspaceId: idOrNull(delegation.viewWorkspace),
  });

  if (found?.session.kind !== 'oauth' || found.session.clientId !== claims.clientId) throw fail('credential_invalid');
  if (found.session.isRevoked || !found.person.isActive) throw fail('session_revoked');
  if (found.session.isOver) throw fail('token_expired');
  deps.identity.uses.record('session', found.session.id, found.session.lastSeenAt);
  return narrow(callerOfGrant(found.person, found.session, claims), delegation, found);
}

async function clientOf(deps: Deps, claims: OauthClaims, delegation: Delegation): Promise<Caller> {
  const client = await findClient(deps.db, claims.clientId);
  // A rotated secret ends the tokens that the old one has got.
  const caller = client && client.generation === claims.generation ? callerOfClient(client, claims) : null;

  if (!client || !caller) throw fail('credential_invalid');
  deps.identity.uses.record('oauth_client', client.id, client.lastUsedAt);
  return narrow(caller, delegation, null);
}
