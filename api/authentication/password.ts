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
import type { PasswordChangeBody, PasswordForgotBody, PasswordResetBody } from './password.schema.ts';

/** A change whose current password has been checked; null hashes: it was wrong. */
export interface PasswordChange {
  readonly email: string;
  readonly hashes: { readonly from: string; readonly to: string } | null;
}

/**
 * Judges the new password, then verifies the current one, outside any transaction. A stolen session guesses as often as a stolen challenge:
 * tries count against the user.
 */
export async function attemptPasswordChange({
  deps,
  body,
  caller,
  limits,
  correlationId,
}: IdentifyRequest<Static<typeof PasswordChangeBody>>): Promise<PasswordChange> {
  // `mount` has validated the body against PasswordChangeBody before.
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
  // `mount` has validated the body against PasswordForgotBody before.
  const { email } = body;

  await limits.consume([
    { policy: 'mail_account', key: accountHash(deps.keys, normalizeEmail(email)).toString('base64url') },
    { policy: 'mail_ip', key: limitAddress },
  ]);
}

/** A reset whose token is open and whose password will do. The caller is the user to whom the mail went. */
export interface PasswordReset {
  readonly caller: Caller;
  readonly token: ShownToken;
  readonly passwordHash: string;
}

/** The token is checked first and consumed last, so that an unacceptable password does not cost the user the link. */
export async function attemptReset({ deps, body }: IdentifyRequest<Static<typeof PasswordResetBody>>): Promise<PasswordReset> {
  // `mount` has validated the body against PasswordResetBody before.
  const { token: shown, new_password: wanted } = body;
  const token = await readMailToken(deps.db, shown, 'password_reset');
  const { person, email, fullName } = token;

  const subject = { email, fullName, hasFactor: person.hasFactor, pointer: '/new_password' };
  return { caller: callerOfPerson(person, null), token, passwordHash: await hashNewPassword(deps, wanted, subject) };
}
