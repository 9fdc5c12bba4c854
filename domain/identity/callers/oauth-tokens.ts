import { decodeProtectedHeader, type JWTPayload } from 'jose';
import { createSignedTokens, type TokenMaker } from '../keys/signed-tokens.ts';

const tokenType = 'at+jwt';
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The resources of a deployment for which tokens are issued (RFC 8707). */
export function resourcesOf(publicUrl: string): { readonly api: string; readonly mcp: string } {
  return { api: publicUrl, mcp: `${publicUrl}/mcp` };
}

/** The claims of an OAuth access token. Its scopes are further bounded by those of the row, which is read on each request. */
export interface OauthClaims {
  readonly subject: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** The one resource for which the token is valid. */
  readonly resource: string;
  /** The user's grant; null for a client's own token. */
  readonly sessionId: string | null;
  /** Generation of the client's secret, in a client's own token. */
  readonly generation: number | null;
  /** Unix seconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export type OauthSubject = Pick<OauthClaims, 'clientId' | 'scopes' | 'resource'> &
  (
    | { readonly userId: string; readonly sessionId: string; readonly generation?: undefined }
    | { readonly generation: number; readonly userId?: undefined; readonly sessionId?: undefined }
  );

/** Issues and verifies OAuth access tokens (RFC 9068), each bound to one resource of this deployment. */
export interface OauthTokens {
  issue(subject: OauthSubject): Promise<{ token: string; expiresAt: Date }>;
  /** Throws `token_expired`, or `credential_invalid` for any other fault. */
  verify(token: string): Promise<OauthClaims>;
}

export function createOauthTokens(maker: TokenMaker & { readonly resources: readonly string[] }): OauthTokens {
  const tokens = createSignedTokens(maker, {
    type: tokenType,
    audiences: maker.resources,
    lengthMax: 6_000,
    requiredClaims: ['client_id', 'scope'],
    tokenClaimsOf,
  });

  return {
    issue: ({ clientId, scopes, resource, userId, sessionId, generation }) =>
      tokens.issue({
        // RFC 9068 §2.2: without a resource owner the client is the subject.
        sub: userId ?? clientId,
        aud: resource,
        client_id: clientId,
        scope: scopes.join(' '),
        ...(sessionId === undefined ? { gen: generation } : { sid: sessionId }),
      }),
    verify: (token) => tokens.verify(token),
  };
}

/** Whether a bearer token claims to be an OAuth access token, by its unverified header. */
export function isOauthTokenLike(token: string): boolean {
  try {
    return decodeProtectedHeader(token).typ === tokenType;
  } catch {
    return false;
  }
}

function tokenClaimsOf({ sub, aud, sid, gen, exp, iat, client_id: clientId, scope }: JWTPayload): OauthClaims | null {
  if (typeof sub !== 'string' || typeof aud !== 'string' || typeof exp !== 'number' || typeof iat !== 'number') return null;
  if (typeof clientId !== 'string' || typeof scope !== 'string') return null;
  const common = { subject: sub, clientId, scopes: scope.split(' '), resource: aud, issuedAt: iat, expiresAt: exp };

  if (typeof gen === 'number' && sid === undefined && sub === clientId) return { ...common, sessionId: null, generation: gen };
  const isOfUser = typeof sid === 'string' && uuidPattern.test(sid) && uuidPattern.test(sub);
  return isOfUser ? { ...common, sessionId: sid, generation: null } : null;
}
