import type { Static } from 'typebox';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { hashNewPassword } from '../http/views/new-password.ts';
import type { OrganizationCreate } from './organization.schema.ts';

/** The password of a first owner, hashed before the transaction; null: the owner is invited. */
export interface PreparedOwner {
  readonly passwordHash: string | null;
}

/** Looks at the password outside any transaction. 422 for a weak one, and where there is none and no mailer. */
export async function prepareOwner({ deps, body }: IdentifyRequest<Static<typeof OrganizationCreate>>): Promise<PreparedOwner> {
  // `mount` has validated the body against OrganizationCreate before.
  const { email, full_name: fullName, password } = body.owner;

  if (password === undefined) {
    if (deps.env.mail === null)
      throw invalid('/owner/password', 'required', 'this deployment cannot send mail, so the owner needs a password');
    return { passwordHash: null };
  }
  const subject = { email: normalizeEmail(email), fullName: fullName ?? null, hasFactor: false, pointer: '/owner/password' };
  return { passwordHash: await hashNewPassword(deps, password, subject) };
}
