import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, SignJWT, type JWTPayload } from 'jose';
import { fail } from '../../workflows/contracts/failure.ts';
import { newId } from '../ids.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Life of an access token in seconds. */
export const accessTokenLifeS = 600;

const tokenType = 'lh-session+jwt';
const algorithm = 'EdDSA';
const clockToleranceS = 5;
const rememberedMax = 10_000;
const tokenLengthMax = 2_048;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** What a session access token says: never a role, a scope or a membership, which are read from the row on each request. */
export interface SessionClaims {
  readonly userId: string;
  readonly sessionId: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** Makes and checks the access tokens of sessions: JWT, EdDSA (RFC 8037), bound to this deployment's URL. */
export interface SessionTokens {
  issue(subject: { userId: string; sessionId: string }): Promise<{ token: string; expiresAt: Date }>;
  /** Throws `token_expired`, or `credential_invalid` for whatever else is wrong with it. Costs no query unless its key is new here. */
  verify(token: string): Promise<SessionClaims>;
}

export function createSessionTokens({
  signingKeys,
  publicUrl,
  now,
}: {
  signingKeys: SigningKeys;
  publicUrl: string;
  now: () => Date;
}): SessionTokens {
  // Signatures that were right, by digest of the token. No decision is remembered: the row is read every time.
  const remembered = new Map<string, SessionClaims>();

  return {
    async issue({ userId, sessionId }) {
      const { kid, privateKey } = await signingKeys.current();
      const issuedAt = Math.floor(now().getTime() / 1_000);
      const expiresAt = issuedAt + accessTokenLifeS;
      const token = await new SignJWT({ sid: sessionId })
        .setProtectedHeader({ alg: algorithm, typ: tokenType, kid })
        .setIssuer(publicUrl)
        .setAudience(publicUrl)
        .setSubject(userId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .setJti(newId())
        .sign(privateKey);

      return { token, expiresAt: new Date(expiresAt * 1_000) };
    },

    async verify(token) {
      if (token.length > tokenLengthMax) throw fail('credential_invalid');
      const digest = createHash('sha256').update(token).digest('base64');
      const claims = remembered.get(digest) ?? (await checkSignature(token, { signingKeys, publicUrl, now }));

      if (claims.expiresAt + clockToleranceS <= now().getTime() / 1_000) {
        remembered.delete(digest);
        throw fail('token_expired');
      }
      if (!remembered.has(digest)) remember(remembered, digest, claims);
      return claims;
    },
  };
}

async function checkSignature(
  token: string,
  { signingKeys, publicUrl, now }: { signingKeys: SigningKeys; publicUrl: string; now: () => Date },
): Promise<SessionClaims> {
  const kid = readableKid(token, publicUrl);
  const publicKey = kid === null ? null : await signingKeys.publicKey(kid);

  if (!publicKey) throw fail('credential_invalid');
  try {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: [algorithm],
      typ: tokenType,
      issuer: publicUrl,
      audience: publicUrl,
      clockTolerance: clockToleranceS,
      currentDate: now(),
      requiredClaims: ['sub', 'sid', 'iat', 'exp', 'jti'],
    });

    return claimsOf(payload);
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw fail('token_expired');
    if (error instanceof errors.JOSEError) throw fail('credential_invalid');
    throw error;
  }
}

// Looks at the unverified parts first, so that a garbled or foreign token never makes the keys be read again.
function readableKid(token: string, publicUrl: string): string | null {
  try {
    const header = decodeProtectedHeader(token);
    const payload = decodeJwt(token);

    if (header.alg !== algorithm || header.typ !== tokenType || payload.iss !== publicUrl || payload.aud !== publicUrl) return null;
    return header.kid ?? null;
  } catch {
    return null;
  }
}

function claimsOf(payload: JWTPayload): SessionClaims {
  const { sub, sid, exp } = payload;

  if (typeof sub !== 'string' || typeof sid !== 'string' || typeof exp !== 'number') throw fail('credential_invalid');
  if (!uuidPattern.test(sub) || !uuidPattern.test(sid)) throw fail('credential_invalid');
  return { userId: sub, sessionId: sid, expiresAt: exp };
}

function remember(remembered: Map<string, SessionClaims>, digest: string, claims: SessionClaims): void {
  if (remembered.size >= rememberedMax) {
    const oldest = remembered.keys().next();

    if (!oldest.done) remembered.delete(oldest.value);
  }
  remembered.set(digest, claims);
}
