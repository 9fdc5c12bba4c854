import type { JWTPayload } from 'jose';
import { createSignedTokens, type TokenMaker } from '../keys/signed-tokens.ts';

export { accessTokenLifeS } from '../keys/signed-tokens.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The claims of a session access token: never a role, a scope or a membership, which are read from the row on each request. */
export interface SessionClaims {
  readonly userId: string;
  readonly sessionId: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** Issues and verifies the access tokens of sessions, bound to this deployment's URL. */
export interface SessionTokens {
  issue(subject: { userId: string; sessionId: string }): Promise<{ token: string; expiresAt: Date }>;
  /** Throws `token_expired`, or `credential_invalid` for any other fault. Costs no query unless this process does not know the key yet. */
  verify(token: string): Promise<SessionClaims>;
}

export function createSessionTokens(maker: TokenMaker): SessionTokens {
  const { publicUrl } = maker;
  const tokens = createSignedTokens(maker, {
    type: 'lh-session+jwt',
    audiences: [publicUrl],
    lengthMax: 2_048,
    requiredClaims: ['sid'],
    tokenClaimsOf,
  });

  return {
    issue: ({ userId, sessionId }) => tokens.issue({ sub: userId, aud: publicUrl, sid: sessionId }),
    verify: (token) => tokens.verify(token),
  };
}

function tokenClaimsOf({ sub, sid, exp }: JWTPayload): SessionClaims | null {
  if (typeof sub !== 'string' || typeof sid !== 'string' || typeof exp !== 'number') return null;
  return uuidPattern.test(sub) && uuidPattern.test(sid) ? { userId: sub, sessionId: sid, expiresAt: exp } : null;
}
