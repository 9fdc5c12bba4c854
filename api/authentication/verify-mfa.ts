import type { Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import { truncateAddress } from '../../db/identity/addresses.ts';
import { callerOfPerson } from '../../db/identity/caller.ts';
import { countTry, type CountedTry } from '../../db/identity/challenges.ts';
import { readOwnCredential, type OwnCredential } from '../../db/identity/credentials.ts';
import { openFactor, readFactor, spendStep, type StoredFactor } from '../../db/identity/factors.ts';
import { findChallenge, type ChallengeAnswer } from '../../db/identity/gates.ts';
import { notify } from '../../db/identity/notices.ts';
import { useRecoveryCode } from '../../db/identity/recovery-codes.ts';
import { defaultLifetime, openVerifiedSession } from '../../db/identity/sessions.ts';
import { stepOfTotp } from '../../db/identity/totp.ts';
import { markVerified } from '../../db/identity/verification.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { toTokenView, type TokenView } from '../http/views/login-view.ts';
import type { Ctx, IdentifyRequest } from '../http/operation/operation.ts';
import type { MfaVerifyBody } from './mfa.schema.ts';
import { grantOf, keepFailure, ownAccount, type OwnAccount } from './own-account.ts';

type Method = 'totp' | 'recovery_code' | 'password';
type Account = Omit<OwnAccount, 'sessionId'>;

/** A code that was shown, before it is looked at; a password that was. */
export type MfaAttempt =
  | { readonly kind: 'challenge'; readonly caller: Caller; readonly challengeId: string; readonly found: ChallengeAnswer }
  | { readonly kind: 'step_up'; readonly caller: Caller; readonly email: string; readonly isPasswordRight: boolean | null };

/**
 * Finds out whose sign-in or session is to be verified, and counts the try against the user. A password is verified here, outside any transaction.
 * 422 for a challenge beside a bearer or neither; one 401 for every challenge that isn't there.
 */
export async function attemptMfa(request: IdentifyRequest<Static<typeof MfaVerifyBody>>): Promise<MfaAttempt> {
  // `mount` has validated the body against MfaVerifyBody before.
  const { challenge_id: challengeId = null, method = 'totp', code } = request.body;

  if (request.caller.kind !== 'nobody') {
    if (challengeId !== null) throw invalid('/challenge_id', 'range', 'a step-up has no challenge: send the code alone');
    return attemptStepUp(request, { method, code });
  }
  if (challengeId === null) throw invalid('/challenge_id', 'required', 'name the challenge of the sign-in, or send a bearer to step up');
  if (method === 'password') throw passwordNotTaken();

  const found = await findChallenge(request.deps.db, challengeId);
  if (!found?.person.isActive) throw fail('mfa_code_invalid');
  await request.limits.consume([{ policy: 'mfa', key: found.person.id }]);
  return { kind: 'challenge', caller: callerOfPerson(found.person, null), challengeId, found };
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

/** A password verifies nobody who has something better; a code needs a factor. */
function refuseMethod(method: Method, { hasFactor }: OwnCredential): void {
  if (method === 'password' && hasFactor) throw passwordNotTaken();
  if (method !== 'password' && !hasFactor) {
    throw fail('state_conflict', { reason: 'no_factor', detail: 'there is no second factor: verify your password' });
  }
}

/** Completes a sign-in. The try is counted and committed before its code is compared; wrong, over-tried, used and expired are one answer. */
export async function completeLogin(
  ctx: Ctx,
  { method, code }: { method: Method; code: string },
  { challengeId, found }: Extract<MfaAttempt, { kind: 'challenge' }>,
): Promise<Static<typeof TokenView>> {
  const { person, email } = found;
  const counted = await countedTry(ctx, { challengeId, userId: person.id });
  const account = { userId: person.id, organizationId: person.organizationId, workspaceId: person.workspaceId };

  const sealed = method === 'recovery_code' ? null : counted.sealedFactor;
  const factor = sealed && { sealed, secret: await openFactor(ctx, ctx.deps.keys, { ...account, sealed }) };

  if (!(await isRight(ctx, account, { method, code, factor }))) {
    await keepFailure(ctx, { email, person, reason: 'wrong_code' });
    throw fail('mfa_code_invalid');
  }
  const opened = await openVerifiedSession(ctx, {
    person,
    challengeId,
    device: { label: counted.deviceLabel, userAgent: ctx.userAgent ?? '', networkAddress: truncateAddress(ctx.address) },
    mfaLevel: method === 'recovery_code' ? 'recovery_code' : 'totp',
    lifetime: {
      idleDays: found.idleDays ?? defaultLifetime.idleDays,
      absoluteDays: found.absoluteDays ?? defaultLifetime.absoluteDays,
    },
  });

  if (!opened) throw fail('mfa_code_invalid');
  ctx.audit({
    resourceType: 'session',
    resourceId: opened.sessionId,
    organizationId: person.organizationId,
    workspaceId: person.workspaceId,
  });
  return toTokenView(await grantOf(ctx, person.id, opened));
}

/** Makes the session fresh. Its refresh token stays the one it has. */
export async function stepUp(
  ctx: Ctx,
  { method, code }: { method: Method; code: string },
  { email, isPasswordRight }: Extract<MfaAttempt, { kind: 'step_up' }>,
): Promise<Static<typeof TokenView>> {
  const account = ownAccount(ctx.caller);
  const { userId, sessionId, organizationId, workspaceId } = account;

  if (!(isPasswordRight ?? (await isRightNow(ctx, account, { method, code })))) {
    await keepFailure(ctx, {
      email,
      person: { id: userId, organizationId },
      reason: method === 'password' ? 'wrong_password' : 'wrong_code',
    });
    throw fail('mfa_code_invalid');
  }
  if (!(await markVerified(ctx, { sessionId, mfaLevel: method === 'password' ? 'none' : method }))) throw fail('session_revoked');
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
  let counted: Awaited<ReturnType<typeof countTry>> = null;

  await ctx.commitNow(async (tx) => {
    counted = await countTry(tx, of);
  });
  return counted ?? deadChallenge();
}

function deadChallenge(): never {
  throw fail('mfa_code_invalid');
}

/** Reads the factor of whoever steps up first. */
async function isRightNow(ctx: Ctx, account: Account, shown: { method: Method; code: string }): Promise<boolean> {
  const factor = shown.method === 'recovery_code' ? null : await readFactor(ctx, ctx.deps.keys, account);
  return isRight(ctx, account, { ...shown, factor: factor?.isConfirmed ? factor : null });
}

/** Uses a code up: a recovery code, or the time step of the factor's. */
async function isRight(
  ctx: Ctx,
  account: Account,
  { method, code, factor }: { method: Method; code: string; factor: Pick<StoredFactor, 'secret' | 'sealed'> | null },
): Promise<boolean> {
  const { userId } = account;
  if (method !== 'recovery_code') {
    const step = factor && stepOfTotp(factor.secret, code, ctx.deps.now());
    return factor !== null && step !== null && spendStep(ctx, { userId, sealed: factor.sealed, step });
  }
  const used = await useRecoveryCode(ctx, ctx.deps.keys, { userId, code });
  if (used?.left === 0) await notify(ctx, ctx.deps.keys, { template: 'recovery_codes_used_up', ...account });
  return used !== null;
}

function passwordNotTaken() {
  return invalid('/method', 'range', 'a password is taken in a step-up of a user without a second factor only');
}
