import { recordChange } from '../audit/record.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import {
  countSent,
  insertInvitation,
  expireInvitation,
  writeRenewed,
  type NewInvitation,
} from '../../db/tenancy/people/write-invitations.ts';
import { assertScopeActive } from '../../db/frozen.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { newId } from '../../db/ids.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { addMail } from '../../db/mail.ts';
import { refuseRank } from '../../db/caller-scope.ts';
import type { Changing } from '../../db/scope.ts';
import { refuseHigherRank, refuseUnattended } from './rank-rules.ts';
import {
  lockOrganizationOfInvitation,
  findInvitationForChange,
  type LockedInvitation,
  type InvitationRow,
} from '../../db/tenancy/people/invitations.ts';

/** Records that an invitation has been mailed, even if it was resent, accepted or revoked meanwhile: the mail is out. */
export async function markInvitationSent(tx: TenantTransaction, invitationId: string): Promise<void> {
  const sent = await countSent(tx, invitationId);
  if (!sent) return;

  await recordChange(tx, {
    action: 'update',
    note: {
      resourceType: 'invitation',
      resourceId: invitationId,
      workspaceId: sent.workspaceId,
      changes: { send_count: { from: sent.sendCount - 1, to: sent.sendCount } },
    },
  });
}

/** How often an invitation may be sent again in all. */
export const maxResends = 10;

/** How an invitation is locked. */
interface LockOptions {
  readonly openWhenSuspended?: boolean;
  /** The invitation may become pending again: the organization is locked first, in the same order as for inviting. */
  readonly mayCountAgain?: boolean;
}

/**
 * Loads and locks an invitation for a change. Throws, in this order: 404, 403 below the floor there and for an invitation to a rank above the caller's own or,
 * by a key, above member, 423 in a frozen workspace or organization (unless `openWhenSuspended`).
 */
export async function lockInvitation(
  ctx: Changing,
  id: string,
  { openWhenSuspended = false, mayCountAgain = false }: LockOptions = {},
): Promise<LockedInvitation> {
  if (mayCountAgain) {
    await lockOrganizationOfInvitation(ctx, id);
  }
  const found = await findInvitationForChange(ctx, id);
  if (!found) throw fail('not_found');

  refuseRank(ctx.caller, found.workspaceId ?? '', ctx.floor);
  refuseUnattended(ctx.caller, found.role);
  refuseHigherRank(ctx.caller, found.role, found.workspaceId);
  if (!openWhenSuspended) assertScopeActive(found.organizationStatus, found.isHomeActive);
  return found;
}

/**
 * Writes an invitation and the mail with its token; returns the row. Returns null when an unexpired one of the same address is pending in the organization.
 * Checks no rights.
 */
export async function writeInvitation(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  invitation: NewInvitation,
): Promise<InvitationRow | null> {
  const { organizationId, workspaceId, email } = invitation;
  const id = newId();
  const { tokenHash } = await addMail(tx, keys, {
    mail: { template: 'invitation', invitationId: id },
    rowScope: { organizationId, workspaceId },
  });
  const written = await insertInvitation(tx, { ...invitation, id, tokenHash });
  if (written) return written;

  // The pending one may have expired in a workspace that the caller doesn't see.
  return (await expireInvitation(tx, organizationId, email)) ? insertInvitation(tx, { ...invitation, id, tokenHash }) : null;
}

/** Gives a locked invitation a new token and expiry, and mails it; this statement invalidates the old token. The sender vouches for it from now on. */
export async function renewInvitation(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { locked, ...by }: { readonly locked: LockedInvitation } & Pick<NewInvitation, 'invitedByUserId' | 'madeBy'>,
): Promise<InvitationRow> {
  const { tokenHash } = await addMail(tx, keys, {
    mail: { template: 'invitation', invitationId: locked.id },
    rowScope: { organizationId: locked.organizationId, workspaceId: locked.workspaceId },
  });
  return writeRenewed(tx, { ...by, id: locked.id, tokenHash, invitationDays: locked.invitationDays });
}
