import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, SignJWT, type JWTPayload } from 'jose';
import { fail } from '../../../workflows/contracts/failure.ts';
import { newId } from '../../../db/ids.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Lifetime of an access token in seconds. */
export const accessTokenLifeS = 600;

const algorithm = 'EdDSA';
const clockToleranceS = 5;
// Each of the two kinds of token has one such cache: 10,000 entries per process.
const rememberedMax = 5_000;

/** One kind of access token: its `typ`, its audiences, and how its claims are read. */
export interface TokenForm<TokenClaims> {
  readonly type: string;
  readonly audiences: readonly string[];
  readonly lengthMax: number;
  readonly requiredClaims: readonly string[];
  /** Returns null for claims that are not of this kind. */
  readonly tokenClaimsOf: (payload: JWTPayload) => TokenClaims | null;
}

export interface TokenMaker {
  readonly signingKeys: SigningKeys;
  readonly publicUrl: string;
  readonly now: () => Date;
}

/** Issues and verifies access tokens of one kind: JWT, EdDSA (RFC 8037), issued by this deployment. */
export interface SignedTokens<TokenClaims> {
  issue(claims: JWTPayload & { readonly sub: string; readonly aud: string }): Promise<{ token: string; expiresAt: Date }>;
  /** Throws `token_expired`, or `credential_invalid` for any other fault. Costs no query unless this process does not know the key yet. */
  verify(token: string): Promise<TokenClaims>;
}

/** Claims with an expiry, in Unix seconds. */
export interface Expiring {
  readonly expiresAt: number;
}

export function createSignedTokens<TokenClaims extends Expiring>(
  maker: TokenMaker,
  form: TokenForm<TokenClaims>,
): SignedTokens<TokenClaims> {
  // Claims of tokens with a valid signature, by digest of the token. No decision is cached: the row is read every time.
  const remembered = new Map<string, TokenClaims>();

  return {
    async issue(claims) {
      const { kid, privateKey } = await maker.signingKeys.current();
      const issuedAt = Math.floor(maker.now().getTime() / 1_000);
      const expiresAt = issuedAt + accessTokenLifeS;
      const token = await new SignJWT({ ...claims, iss: maker.publicUrl, iat: issuedAt, exp: expiresAt, jti: newId() })
        .setProtectedHeader({ alg: algorithm, typ: form.type, kid })
        .sign(privateKey);

      return { token, expiresAt: new Date(expiresAt * 1_000) };
    },

    async verify(token) {
      if (token.length > form.lengthMax) throw fail('credential_invalid');
      const digest = createHash('sha256').update(token).digest('base64');
      const claims = remembered.get(digest) ?? (await checkSignature(token, maker, form));

      if (claims.expiresAt + clockToleranceS <= maker.now().getTime() / 1_000) {
        remembered.delete(digest);
        throw fail('token_expired');
      }
      if (!remembered.has(digest)) remember(remembered, digest, claims);
      return claims;
    },
  };
}

async function checkSignature<TokenClaims>(token: string, maker: TokenMaker, form: TokenForm<TokenClaims>): Promise<TokenClaims> {
  const kid = readableKid(token, maker.publicUrl, form);
  const publicKey = kid === null ? null : await maker.signingKeys.publicKey(kid);

  if (!publicKey) throw fail('credential_invalid');
  try {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: [algorithm],
      typ: form.type,
      issuer: maker.publicUrl,
      audience: [...form.audiences],
      clockTolerance: clockToleranceS,
      currentDate: maker.now(),
      requiredClaims: ['sub', 'iat', 'exp', 'jti', ...form.requiredClaims],
    });
    const claims = form.tokenClaimsOf(payload);

    if (!claims) throw fail('credential_invalid');
    return claims;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw fail('token_expired');
    if (error instanceof errors.JOSEError) throw fail('credential_invalid');
    throw error;
  }
}

// Checks the unverified parts first, so that a malformed or foreign token never makes the keys be read again.
function readableKid(token: string, publicUrl: string, form: Pick<TokenForm<unknown>, 'type' | 'audiences'>): string | null {
  try {
    const header = decodeProtectedHeader(token);
    const { iss, aud } = decodeJwt(token);

    if (header.alg !== algorithm || header.typ !== form.type || iss !== publicUrl) return null;
    return typeof aud === 'string' && form.audiences.includes(aud) ? (header.kid ?? null) : null;
  } catch {
    return null;
  }
}

function remember<TokenClaims>(remembered: Map<string, TokenClaims>, digest: string, claims: TokenClaims): void {
  if (remembered.size >= rememberedMax) {
    const oldest = remembered.keys().next();

    if (!oldest.done) remembered.delete(oldest.value);
  }
  remembered.set(digest, claims);
}
