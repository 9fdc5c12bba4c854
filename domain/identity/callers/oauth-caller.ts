import type { Caller } from '../../../db/caller.ts';
import { callerOfPerson } from './caller.ts';
import type { FoundClient } from '../../../db/identity/lookup/oauth-lookup.ts';
import type { OauthClaims } from './oauth-tokens.ts';
import type { FoundSession, Person } from '../../../db/identity/people/people.ts';

/** The caller of a user's OAuth token: the user, bounded by the scopes of token and grant. It never counts as freshly verified. */
export function callerOfGrant(person: Person, session: FoundSession, claims: Pick<OauthClaims, 'scopes'>): Caller {
  return Object.freeze({
    ...callerOfPerson(person, session),
    clientId: session.clientId,
    scopes: sharedScopes(claims.scopes, session.oauthScope),
    freshUntil: null,
  });
}

/** The caller of a session of either kind, without a token: a grant is bounded by its own scopes. */
export function callerOfAnySession(person: Person, session: FoundSession | null): Caller {
  if (session?.kind !== 'oauth') return callerOfPerson(person, session);
  return callerOfGrant(person, session, { scopes: session.oauthScope?.split(' ') ?? [] });
}

/** The caller of a client acting for itself (client_credentials); null when it may not act: deleted, unbound, or its organization no longer exists. */
export function callerOfClient(client: FoundClient, claims: Pick<OauthClaims, 'scopes'> | null): Caller | null {
  const { organizationId, workspaceId, role } = client;
  if (client.isDeleted || client.isHomeGone || organizationId === null || role === null) return null;

  return Object.freeze({
    kind: 'oauth_client',
    principalId: client.id,
    userId: null,
    actingUserId: null,
    impersonationId: null,
    sessionId: null,
    clientId: client.clientId,
    role,
    ownRole: role,
    scope: workspaceId === null ? 'organization' : 'workspace',
    organizationId,
    workspaceId,
    workspaces: workspaceId === null ? 'all' : new Map([[workspaceId, role]]),
    scopes: sharedScopes(claims?.scopes ?? [], client.scope),
    view: null,
    restriction: null,
    freshUntil: null,
  });
}

/** The scopes of a token that its grant or client still allows; null allows all. */
function sharedScopes(scopes: readonly string[], allowed: string | null): readonly string[] {
  if (allowed === null) return scopes;
  const names = allowed.split(' ');
  return scopes.filter((scope) => names.includes(scope) || (scope.endsWith(':read') && names.includes('*:read')));
}
