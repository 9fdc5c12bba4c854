import type { Static } from 'typebox';
import { isPerson } from '../../db/identity/people/creator.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { refuseUnattended, sessionRequired } from '../../domain/tenancy/rank-rules.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { hashNewPassword } from '../http/views/new-password.ts';
import type { UserCreate } from './user.schema.ts';

/** A user's first password, hashed before the transaction; null: the user will choose it by mail. */
export interface PreparedUser {
  readonly passwordHash: string | null;
}

/**
 * Counts the try against the organization's day, and looks at the password outside any transaction, since hashing takes tens of
 * milliseconds. 422 for a weak one, and where there is none and no mailer. 403 `user_session_required` for a key that makes somebody above member (R4) or
 * sets a password.
 */
export async function prepareUser({ deps, caller, body, limits }: IdentifyRequest<Static<typeof UserCreate>>): Promise<PreparedUser> {
  // `mount` has validated the body against UserCreate before.
  const { email, full_name: fullName, password, role } = body;
  const organizationId = organizationOf(caller);

  refuseUnattended(caller, role);
  if (!isPerson(caller)) refusePasswordByKey(password, deps.env.mail !== null);
  if (password === undefined && deps.env.mail === null)
    throw invalid('/password', 'required', 'this deployment cannot send mail, so the user needs a password');
  if (organizationId !== null) await limits.consume([{ policy: 'user_create', key: organizationId }]);
  if (password === undefined) return { passwordHash: null };

  const subject = { email: normalizeEmail(email), fullName: fullName ?? null, hasFactor: false, pointer: '/password' };
  return { passwordHash: await hashNewPassword(deps, password, subject) };
}

/** The user chooses the password by the mailed link, so that a key never knows it; if no mail can be sent, a key cannot create users. */
function refusePasswordByKey(password: string | undefined, sendsMails: boolean): void {
  if (password !== undefined)
    throw sessionRequired('a key or a connected app cannot set a password; omit it, and the user chooses one by mail');
  if (!sendsMails)
    throw sessionRequired('this deployment cannot send mail, so a user needs a password, which can only be set from a user session');
}
