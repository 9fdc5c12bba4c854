import type { Caller } from '../../db/caller.ts';
import { callerOfPerson, nobody } from '../../domain/identity/callers/caller.ts';
import { findSession } from '../../db/identity/lookup/credential-lookup.ts';
import { callerOfClient } from '../../domain/identity/callers/oauth-caller.ts';
import { findGrant, type FoundClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { isOauthTokenLike, type OauthClaims } from '../../domain/identity/callers/oauth-tokens.ts';
import { isOpaqueToken, tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import type { FoundSession, Person } from '../../db/identity/people/people.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { authenticateClient } from './client-auth.ts';
import type { Introspection, TokenReference } from './token.schema.ts';

/** A token that a client names: the session behind it if it is the client's own, and what introspection may reveal. */
export interface ReferenceAttempt {
  readonly caller: Caller;
  readonly client: FoundClient;
  readonly session: FoundSession | null;
  readonly introspection: Introspection;
}

const inactive: Introspection = { active: false };

/** Looks up a token of the client itself; a foreign, expired or invalid token gets the same answer. */
export async function attemptReference(asked: IdentifyRequest<TokenReference>): Promise<ReferenceAttempt> {
  const form = asked.body;
  const client = await authenticateClient(asked, form);

  if (isOpaqueToken('refresh', form.token)) return ofRefreshToken(asked, client, form.token);
  return isOauthTokenLike(form.token)
    ? ofAccessToken(asked, client, form.token)
    : { caller: nobody, client, session: null, introspection: inactive };
}

async function ofRefreshToken({ deps }: IdentifyRequest, client: FoundClient, token: string): Promise<ReferenceAttempt> {
  const grant = await findGrant(deps.db, tokenHash(token));
  if (grant?.session.clientId !== client.clientId) return { caller: nobody, client, session: null, introspection: inactive };
  const { session, person } = grant;

  const introspection = grant.isLive &&
    isStanding(session, person) && {
      active: true,
      scope: grant.scope,
      client_id: client.clientId,
      sub: session.userId,
      iss: deps.env.publicUrl,
      aud: session.resource ?? deps.env.publicUrl,
      iat: seconds(grant.createdAt),
      exp: seconds(grant.expiresAt),
    };
  return { caller: callerOfPerson(person, null), client, session, introspection: introspection || inactive };
}

async function ofAccessToken({ deps }: IdentifyRequest, client: FoundClient, token: string): Promise<ReferenceAttempt> {
  const nothing = { caller: nobody, client, session: null, introspection: inactive };
  const claims = await deps.identity.oauthTokens.verify(token).catch(refusedAsNull);

  if (claims?.clientId !== client.clientId) return nothing;
  const introspection = toIntrospection(claims, deps.env.publicUrl);
  if (claims.sessionId === null) {
    const isLive = claims.generation === client.generation && callerOfClient(client, claims) !== null;
    return isLive ? { ...nothing, introspection } : nothing;
  }
  const ask = { actingUserId: null, viewOrganizationId: null, viewWorkspaceId: null };
  const found = await findSession(deps.db, { ...ask, sessionId: claims.sessionId, userId: claims.subject });

  if (found?.session.clientId !== client.clientId) return nothing;
  const { session, person } = found;
  return { caller: callerOfPerson(person, null), client, session, introspection: isStanding(session, person) ? introspection : inactive };
}

function toIntrospection(claims: OauthClaims, issuer: string): Introspection {
  return {
    active: true,
    scope: claims.scopes.join(' '),
    client_id: claims.clientId,
    sub: claims.subject,
    iss: issuer,
    aud: claims.resource,
    iat: claims.issuedAt,
    exp: claims.expiresAt,
    token_type: 'Bearer',
  };
}

function isStanding(session: FoundSession, person: Person): boolean {
  return !session.isRevoked && !session.isOver && session.restriction === null && person.isActive;
}

function refusedAsNull(error: unknown): null {
  if (error instanceof Failure && error.status === 401) return null;
  throw error;
}

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}
