import type { Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import { truncateAddress } from '../../db/identity/people/addresses.ts';
import { callerOfPerson } from '../../domain/identity/callers/caller.ts';
import type { OwnCredential } from '../../db/identity/factors/credentials.ts';
import { readOwnCredential } from '../../domain/identity/factors/credentials.ts';
import { findChallenge, type ChallengeAnswer } from '../../db/identity/lookup/credential-lookup.ts';
import type { CountedTry } from '../../db/identity/factors/challenges.ts';
import {
  completeChallenge,
  countChallengeTry,
  freshenSession,
  spendCodeNow,
  spendCodeOfTry,
} from '../../domain/identity/factors/verification.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { toTokenView, type TokenView } from '../http/views/login-view.ts';
import { refreshCookieOf, type RefreshCookie } from '../http/credentials/refresh-cookie.ts';
import type { Ctx, IdentifyRequest } from '../http/operation/operation.ts';
import type { MfaVerifyBody } from './mfa.schema.ts';
import { grantOf, keepFailure, ownAccount } from './own-account.ts';

type Method = 'totp' | 'recovery_code' | 'password';

/** A code that is still to be checked, or a password that has been checked. */
export type MfaAttempt =
  | {
      readonly kind: 'challenge';
      readonly caller: Caller;
      readonly challengeId: string;
      readonly found: ChallengeAnswer;
      /** Set if the refresh token is to go into it. */
      readonly cookie: RefreshCookie | null;
    }
  | { readonly kind: 'step_up'; readonly caller: Caller; readonly email: string; readonly isPasswordRight: boolean | null };

/**
 * Finds the sign-in or session to be verified, and counts the try against the user. Verifies a password here, outside any transaction. Throws 422 for a
 * challenge with a bearer token or for neither, and the same 401 for every challenge that can't be answered.
 */
export async function attemptMfa(request: IdentifyRequest<Static<typeof MfaVerifyBody>>): Promise<MfaAttempt> {
  const { challenge_id: challengeId = null, method = 'totp', code } = request.body;

  if (request.caller.kind !== 'nobody') {
    if (challengeId !== null) throw invalid('/challenge_id', 'range', 'a step-up has no challenge; send the code alone');
    return attemptStepUp(request, { method, code });
  }
  if (challengeId === null) throw invalid('/challenge_id', 'required', 'is required to sign in; to step up, send a bearer token instead');
  if (method === 'password') throw passwordNotTaken();

  const found = await findChallenge(request.deps.db, challengeId);
  if (!found?.person.isActive) throw fail('mfa_code_invalid');
  await request.limits.consume([{ policy: 'mfa', key: found.person.id }]);
  return { kind: 'challenge', caller: callerOfPerson(found.person, null), challengeId, found, cookie: refreshCookieOf(request) };
}

async function attemptStepUp(request: IdentifyRequest, { method, code }: { method: Method; code: string }): Promise<MfaAttempt> {
  const { deps, caller, correlationId, limits } = request;
  const { userId } = ownAccount(caller);
  const credential = await readOwnCredential(deps.db, caller, correlationId);

  refuseMethod(method, credential);
  await limits.consume([{ policy: 'mfa', key: userId }]);
  const isPasswordRight = method === 'password' ? await deps.identity.passwords.verify(credential.passwordHash, code) : null;
  return { kind: 'step_up', caller, email: credential.email, isPasswordRight };
}

/** A password is refused for a user with a second factor; a code requires one. */
function refuseMethod(method: Method, { hasFactor }: OwnCredential): void {
  if (method === 'password' && hasFactor) throw passwordNotTaken();
  if (method !== 'password' && !hasFactor) {
    throw fail('state_conflict', { reason: 'no_factor', detail: 'You have no second factor; verify your password instead.' });
  }
}

/** Completes a sign-in. The try is counted and committed before its code is compared; a wrong, used or expired code and too many tries get the same answer. */
export async function completeLogin(
  ctx: Ctx,
  { method, code }: { method: Method; code: string },
  { challengeId, found }: Extract<MfaAttempt, { kind: 'challenge' }>,
): Promise<Static<typeof TokenView>> {
  const { person, email } = found;
  const counted = await countedTry(ctx, { challengeId, userId: person.id });
  const account = { userId: person.id, organizationId: person.organizationId, workspaceId: person.workspaceId };

  const { encryptedFactor } = counted;
  if (!(await spendCodeOfTry(ctx, ctx.deps.keys, { account, method, code, now: ctx.deps.now(), encryptedFactor }))) {
    await keepFailure(ctx, { email, person, reason: 'wrong_code' });
    throw fail('mfa_code_invalid');
  }
  const opened = await completeChallenge(ctx, {
    person,
    challengeId,
    device: { label: counted.deviceLabel, userAgent: ctx.userAgent ?? '', networkAddress: truncateAddress(ctx.address) },
    method,
    lifetime: found,
  });

  ctx.audit({
    resourceType: 'session',
    resourceId: opened.sessionId,
    organizationId: person.organizationId,
    workspaceId: person.workspaceId,
  });
  return toTokenView(await grantOf(ctx, person.id, opened));
}

/** Makes the session fresh. Its refresh token does not change. */
export async function stepUp(
  ctx: Ctx,
  { method, code }: { method: Method; code: string },
  { email, isPasswordRight }: Extract<MfaAttempt, { kind: 'step_up' }>,
): Promise<Static<typeof TokenView>> {
  const account = ownAccount(ctx.caller);
  const { userId, sessionId, organizationId, workspaceId } = account;

  if (!(isPasswordRight ?? (await spendCodeNow(ctx, ctx.deps.keys, { account, method, code, now: ctx.deps.now() })))) {
    await keepFailure(ctx, {
      email,
      person: { id: userId, organizationId },
      reason: method === 'password' ? 'wrong_password' : 'wrong_code',
    });
    throw fail('mfa_code_invalid');
  }
  await freshenSession(ctx, { sessionId, method });
  ctx.audit({
    resourceType: 'session',
    resourceId: sessionId,
    organizationId,
    workspaceId,
    changes: { step_up: { from: null, to: method } },
  });
  return toTokenView(await grantOf(ctx, userId, { sessionId, refreshToken: null, refreshExpiresAt: null }));
}

async function countedTry(ctx: Ctx, of: { challengeId: string; userId: string }): Promise<CountedTry> {
  let counted: CountedTry | null = null;

  await ctx.commitNow(async (tx) => {
    counted = await countChallengeTry(tx, of);
  });
  return counted ?? deadChallenge();
}

function deadChallenge(): never {
  throw fail('mfa_code_invalid');
}

function passwordNotTaken() {
  return invalid('/method', 'range', 'a password is only accepted in a step-up by a user without a second factor');
}
