import type { Static } from 'typebox';
import { normalizeEmail } from '../../db/identity/people.ts';
import { insertOwner, inviteOwner } from '../../db/operator/first-owner.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx, IdentifyRequest } from '../http/operation.ts';
import type { OrganizationCreate } from './organization.schema.ts';

type OwnerBody = Static<typeof OrganizationCreate>['owner'];

/** The hash of the owner's password, made before the transaction opens; null when none is sent. Throws 422 for one that is no good. */
export async function hashOfOwner({ deps, body }: IdentifyRequest): Promise<string | null> {
  // Valid already, by the operation's own schema.
  const { password } = (body as Static<typeof OrganizationCreate>).owner;
  return password === undefined ? null : deps.identity.passwords.hash(password);
}

/** Makes the owner of a new organization, or invites it. 422 without a password where no mail leaves. */
export async function addOwner(
  ctx: Ctx,
  organizationId: string,
  { owner, passwordHash }: { readonly owner: OwnerBody; readonly passwordHash: string | null },
): Promise<void> {
  const first = { organizationId, email: normalizeEmail(owner.email), fullName: owner.full_name ?? null };
  if (passwordHash !== null) return insertOwner(ctx, first, passwordHash);

  if (ctx.deps.env.mail === null)
    throw invalid('/owner/password', 'required', 'this deployment sends no mail, so the owner needs a password');
  return inviteOwner(ctx, ctx.deps.keys, { owner: first, invitedByUserId: ctx.caller.principalId });
}
