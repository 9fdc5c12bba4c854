import type { Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import { truncateAddress } from '../../db/identity/addresses.ts';
import { callerOfPerson, nobody } from '../../db/identity/caller.ts';
import { findLogin, findRefresh, type LoginAnswer, type RefreshAnswer } from '../../db/identity/gates.ts';
import { accountHash, isOpaqueToken, tokenHash } from '../../db/identity/opaque-tokens.ts';
import { isOutdatedHash } from '../../db/identity/passwords.ts';
import { normalizeEmail } from '../../db/identity/people.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { AppDeps } from '../http/deps.ts';
import type { IdentifyRequest } from '../http/operation.ts';
import type { LoginBody, RefreshBody } from './sign-in.schema.ts';

/** A login whose password has been looked at, before anything is written. */
export interface LoginAttempt {
  readonly caller: Caller;
  readonly accountHash: Buffer;
  readonly networkAddress: string;
  readonly userAgent: string;
  readonly verdict:
    | { readonly kind: 'refused'; readonly reason: 'unknown_account' | 'wrong_password' | 'inactive'; readonly found: LoginAnswer | null }
    | AcceptedLogin;
}

/** The password is right. */
export interface AcceptedLogin {
  readonly kind: 'accepted';
  readonly found: LoginAnswer;
  readonly passwordHash: string;
  /** When the stored hash was made with other parameters than today's. */
  readonly freshHash: string | null;
}

/**
 * Looks the account up and verifies the password, outside any transaction, since that takes tens of milliseconds. The three limits
 * count before the password is looked at, so that parallel guesses can't pass together; a success gives the point back, and so does a look
 * that did not happen (no database, too many sign-ins at once).
 * An unknown account costs what a known one does.
 */
export async function attemptLogin({ deps, body, address, limits, limitAddress, userAgent }: IdentifyRequest): Promise<LoginAttempt> {
  // `mount` has validated the body against LoginBody before.
  const { email, password } = body as Static<typeof LoginBody>;
  const account = accountHash(deps.keys, normalizeEmail(email));
  const accountKey = account.toString('base64url');
  const hits = [
    { policy: 'login_pair', key: `${limitAddress}:${accountKey}` },
    { policy: 'login_account', key: accountKey },
    { policy: 'login_ip', key: limitAddress },
  ] as const;

  await limits.consume(hits);
  const { found, isRight } = await lookAt(deps, email, password).catch(async (error: unknown) => {
    await limits.refund(hits);
    throw error;
  });
  const common = {
    caller: found ? callerOfPerson(found.person, null) : nobody,
    accountHash: account,
    networkAddress: truncateAddress(address),
    userAgent: (userAgent ?? '').slice(0, 400),
  };

  if (!found?.passwordHash || !isRight || !found.person.isActive) {
    const reason = !found ? 'unknown_account' : isRight ? 'inactive' : 'wrong_password';

    return { ...common, verdict: { kind: 'refused', reason, found } };
  }
  await limits.reward(hits);
  const freshHash = isOutdatedHash(found.passwordHash) ? await deps.identity.passwords.hash(password) : null;

  return { ...common, verdict: { kind: 'accepted', found, passwordHash: found.passwordHash, freshHash } };
}

async function lookAt(deps: AppDeps, email: string, password: string): Promise<{ found: LoginAnswer | null; isRight: boolean }> {
  const found = await findLogin(deps.db, normalizeEmail(email));
  const isRight = await deps.identity.passwords.verify(found?.passwordHash ?? null, password);

  return { found, isRight };
}

/** A refresh whose session is known, before anything is decided. */
export interface RefreshAttempt {
  readonly caller: Caller;
  readonly hash: Buffer;
  readonly found: RefreshAnswer;
}

/** Finds whose refresh token it is. Throws `credential_invalid` for an unknown one, `session_revoked` for that of an inactive user. */
export async function attemptRefresh({ deps, body, limits }: IdentifyRequest): Promise<RefreshAttempt> {
  // `mount` has validated the body against RefreshBody before.
  const { refresh_token: token } = body as Static<typeof RefreshBody>;

  if (!isOpaqueToken('refresh', token)) throw fail('credential_invalid');
  const hash = tokenHash(token);
  const found = await findRefresh(deps.db, hash);

  if (!found || found.session.kind !== 'login') throw fail('credential_invalid');
  await limits.consume([{ policy: 'refresh', key: found.session.id }]);
  if (!found.person.isActive) throw fail('session_revoked');
  return { caller: callerOfPerson(found.person, null), hash, found };
}
