import type { Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import { callerOfPerson } from '../../domain/identity/callers/caller.ts';
import { readOwnCredential } from '../../domain/identity/factors/credentials.ts';
import { readMailToken, type ShownToken } from '../../domain/identity/factors/mail-tokens.ts';
import { checkNewPassword, hashNewPassword } from '../http/views/new-password.ts';
import { accountHash } from '../../db/identity/factors/opaque-tokens.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { ownAccount } from './own-account.ts';
import type { PasswordChangeBody, PasswordForgotBody, PasswordResetBody } from './sign-in.schema.ts';

/** A change whose current password has been checked; `hashes` is null if it was wrong. */
export interface PasswordChange {
  readonly email: string;
  readonly hashes: { readonly from: string; readonly to: string } | null;
}

/**
 * Checks the new password, then verifies the current one, outside any transaction. Tries count against the user: a stolen session allows as many guesses as a
 * stolen challenge.
 */
export async function attemptPasswordChange({
  deps,
  body,
  caller,
  limits,
  correlationId,
}: IdentifyRequest<Static<typeof PasswordChangeBody>>): Promise<PasswordChange> {
  const { current_password: current, new_password: wanted } = body;
  const { email, fullName, hasFactor, passwordHash } = await readOwnCredential(deps.db, caller, correlationId);

  await checkNewPassword(deps.passwordStrength, wanted, { email, fullName, hasFactor, pointer: '/new_password' });
  await limits.consume([{ policy: 'mfa', key: ownAccount(caller).userId }]);
  const isRight = await deps.identity.passwords.verify(passwordHash, current);

  if (!isRight || passwordHash === null) return { email, hashes: null };
  return { email, hashes: { from: passwordHash, to: await deps.identity.passwords.hash(wanted) } };
}

/** Counts mails by account and by address, without checking whether the account exists. */
export async function countForgotten({
  deps,
  body,
  limits,
  limitAddress,
}: IdentifyRequest<Static<typeof PasswordForgotBody>>): Promise<void> {
  const { email } = body;

  await limits.consume([
    { policy: 'mail_account', key: accountHash(deps.keys, normalizeEmail(email)).toString('base64url') },
    { policy: 'mail_ip', key: limitAddress },
  ]);
}

/** A reset whose token is valid and whose password is acceptable. The caller is the user who got the mail. */
export interface PasswordReset {
  readonly caller: Caller;
  readonly token: ShownToken;
  readonly passwordHash: string;
}

/** Checks the token first, and leaves it to the handler to consume it, so that an unacceptable password does not cost the user the link. */
export async function attemptReset({ deps, body }: IdentifyRequest<Static<typeof PasswordResetBody>>): Promise<PasswordReset> {
  const { token: shown, new_password: wanted } = body;
  const token = await readMailToken(deps.db, shown, 'password_reset');
  const { person, email, fullName } = token;

  const subject = { email, fullName, hasFactor: person.hasFactor, pointer: '/new_password' };
  return { caller: callerOfPerson(person, null), token, passwordHash: await hashNewPassword(deps, wanted, subject) };
}
