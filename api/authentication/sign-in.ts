import type { Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import { truncateAddress } from '../../db/identity/people/addresses.ts';
import { callerOfPerson, nobody } from '../../domain/identity/callers/caller.ts';
import { findLogin, findRefresh, type LoginAnswer, type RefreshAnswer } from '../../db/identity/lookup/credential-lookup.ts';
import type { LoginFailure } from '../../db/identity/factors/login-failures.ts';
import { accountHash, isOpaqueToken, tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { isOutdatedHash } from '../../db/identity/factors/passwords.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import { withAutocommit, systemActor, tenantOf } from '../../db/transaction.ts';
import { recordLoginFailure } from '../../domain/identity/factors/sign-in.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Deps } from '../http/operation/deps.ts';
import { refreshCookieOf, type RefreshCookie } from '../http/credentials/refresh-cookie.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import type { LoginBody, RefreshBody } from './sign-in.schema.ts';

/** Stands in the body for the token that is in the cookie. */
const inCookie = 'cookie';

/** A login whose password has been checked, before any session is opened. */
export interface LoginAttempt {
  readonly caller: Caller;
  readonly networkAddress: string;
  readonly userAgent: string;
  /** Set if the refresh token is to go into it. */
  readonly cookie: RefreshCookie | null;
  readonly verdict:
    // Already recorded.
    { readonly kind: 'refused' } | AcceptedLogin;
}

/** A login with the right password of an active user. */
export interface AcceptedLogin {
  readonly kind: 'accepted';
  readonly found: LoginAnswer;
  readonly passwordHash: string;
  /** Set if the stored hash was created with parameters other than the current ones. */
  readonly freshHash: string | null;
  /** Settles when the limits have been refunded; to be awaited before the reply. */
  readonly rewarded: Promise<unknown>;
}

/**
 * Looks up the account and verifies the password, outside any transaction, since that takes tens of milliseconds. The three limits count before the password is
 * verified, so that parallel guesses can't pass together. They are refunded after a success, and after a check that did not happen (no database, too many
 * sign-ins at once). An unknown account costs as much time as a known one. A refusal is recorded here, in its own transaction.
 */
export async function attemptLogin(request: IdentifyRequest<Static<typeof LoginBody>>): Promise<LoginAttempt> {
  const { deps, body, address, limits, limitAddress, userAgent } = request;
  const { email, password } = body;
  const account = accountHash(deps.keys, normalizeEmail(email));
  const accountKey = account.toString('base64url');
  const hits = [
    { policy: 'login_pair', key: `${limitAddress}:${accountKey}` },
    { policy: 'login_account', key: accountKey },
    { policy: 'login_ip', key: limitAddress },
  ] as const;

  // In parallel with the limits: the lookup alone decides nothing.
  const finding = markHandled(findLogin(deps.db, normalizeEmail(email)));
  await limits.consume(hits);
  const { found, isRight } = await checkCredentials(deps, finding, password).catch(async (error: unknown) => {
    await limits.refund(hits);
    throw error;
  });
  const common = {
    caller: found ? callerOfPerson(found.person, null) : nobody,
    networkAddress: truncateAddress(address),
    userAgent: (userAgent ?? '').slice(0, 400),
    cookie: refreshCookieOf(request),
  };

  if (!found?.passwordHash || !isRight || !found.person.isActive) {
    const reason = !found ? 'unknown_account' : isRight ? 'inactive' : 'wrong_password';
    const failure = { accountHash: account, person: found?.person ?? null, networkAddress: common.networkAddress, reason } as const;

    await recordAlone(request, common.caller, failure);
    return { ...common, verdict: { kind: 'refused' } };
  }
  const rewarded = markHandled(limits.reward(hits));
  const freshHash = isOutdatedHash(found.passwordHash) ? await deps.identity.passwords.hash(password) : null;

  return { ...common, verdict: { kind: 'accepted', found, passwordHash: found.passwordHash, freshHash, rewarded } };
}

async function checkCredentials(
  deps: Pick<Deps, 'identity'>,
  finding: Promise<LoginAnswer | null>,
  password: string,
): Promise<{ found: LoginAnswer | null; isRight: boolean }> {
  const found = await finding;
  const isRight = await deps.identity.passwords.verify(found?.passwordHash ?? null, password);

  return { found, isRight };
}

/** Records a refusal in one round trip, which also commits it. */
function recordAlone({ deps, correlationId }: IdentifyRequest, caller: Caller, failure: LoginFailure): Promise<void> {
  return withAutocommit(deps.db, { tenant: tenantOf(caller), actor: systemActor, correlationId }, (tx) => recordLoginFailure(tx, failure));
}

/** A refresh whose session is known, before anything is decided. */
export interface RefreshAttempt {
  readonly caller: Caller;
  readonly hash: Buffer;
  readonly found: RefreshAnswer;
  /** Set if the token came from it, and its successor goes there. */
  readonly cookie: RefreshCookie | null;
}

/**
 * Finds the session of a refresh token, given in the body or by cookie. Throws `credential_invalid` for none or an unknown one, `session_revoked` for that of an
 * inactive user, 422 for a token in the body of a request that means the cookie.
 */
export async function attemptRefresh(request: IdentifyRequest<Static<typeof RefreshBody>>): Promise<RefreshAttempt> {
  const { deps, body, limits } = request;
  const cookie = refreshCookieOf(request);

  if (cookie && body.refresh_token !== inCookie) throw invalid('/refresh_token', 'range', `must be "${inCookie}" with X-Refresh-Cookie`);
  const token = cookie ? (cookie.token ?? '') : body.refresh_token;
  if (!isOpaqueToken('refresh', token)) throw fail('credential_invalid');
  const hash = tokenHash(token);
  const found = await findRefresh(deps.db, hash);

  if (!found || found.session.kind !== 'login') throw fail('credential_invalid');
  await limits.consume([{ policy: 'refresh', key: found.session.id }]);
  if (!found.person.isActive) throw fail('session_revoked');
  return { caller: callerOfPerson(found.person, null), hash, found, cookie };
}

/** Marks a rejection as handled until the promise is awaited. */
function markHandled<R>(promise: Promise<R>): Promise<R> {
  promise.catch(() => undefined);
  return promise;
}
