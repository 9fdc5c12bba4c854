import type { Static } from 'typebox';
import { newId } from '../../db/ids.ts';
import { hashNewPassword } from '../http/views/new-password.ts';
import { normalizeEmail } from '../../db/identity/people.ts';
import { isAddressTaken } from '../../db/operator/organizations.ts';
import { writeInvitation } from '../../db/tenancy/invitations.ts';
import { insertUser } from '../../db/tenancy/new-user.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx, IdentifyRequest } from '../http/operation/operation.ts';
import type { OrganizationCreate } from './organization.schema.ts';

/** Days for which settings let an invitation live, unless changed. */
const invitationDays = 7;

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
      throw invalid('/owner/password', 'required', 'this deployment sends no mails, so the owner needs a password');
    return { passwordHash: null };
  }
  const subject = { email: normalizeEmail(email), fullName: fullName ?? null, hasFactor: false, pointer: '/owner/password' };
  return { passwordHash: await hashNewPassword(deps, password, subject) };
}

/** Makes the owner of a new organization at once, or invites it. 409 for an address in use. */
export async function addOwner(
  ctx: Ctx,
  organizationId: string,
  { owner, passwordHash }: { readonly owner: Static<typeof OrganizationCreate>['owner'] } & PreparedOwner,
): Promise<void> {
  const email = normalizeEmail(owner.email);
  const place = { organizationId, workspaceId: null, scope: 'organization', role: 'owner', email } as const;

  if (passwordHash === null) {
    if (await isAddressTaken(ctx, email)) throw fail('already_exists', { context: { field: 'email' } });
    await writeInvitation(ctx, ctx.deps.keys, { ...place, invitedByUserId: ctx.caller.principalId, madeBy: null, invitationDays });
    return;
  }
  await insertUser(ctx, { ...place, id: newId(), fullName: owner.full_name ?? null, passwordHash, firstPassword: null });
}
