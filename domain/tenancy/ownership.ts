import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { lockParties, writeOwner, leaveWorkspaces } from '../../db/tenancy/people/ownership.ts';

export interface Transfer {
  readonly organizationId: string;
  /** Becomes an owner of the whole organization. */
  readonly toUserId: string;
  /** Becomes an admin. */
  readonly fromUserId: string;
}

/**
 * Transfers the ownership of an organization, which the transaction has locked, from one of its owners to another user. Throws 422 `reference` for a user
 * outside of the organization, 409 `target_inactive`, `not_owner`, `own_account`.
 */
export async function handOver(tx: TenantTransaction, { organizationId, toUserId, fromUserId }: Transfer): Promise<void> {
  const parties = await lockParties(tx, organizationId, [toUserId, fromUserId]);
  const target = parties.find(({ id }) => id === toUserId);
  const giver = parties.find(({ id }) => id === fromUserId);

  if (!target) throw unknownUser('/user_id');
  if (!giver) throw unknownUser('/from_user_id');
  if (target === giver) throw fail('state_conflict', { reason: 'own_account', detail: 'The new owner must be another user.' });
  if (!target.isActive) throw fail('state_conflict', { reason: 'target_inactive' });
  if (giver.role !== 'owner' || giver.scope !== 'organization') throw fail('state_conflict', { reason: 'not_owner' });

  await writeOwner(tx, toUserId, fromUserId);
  if (target.scope === 'workspace') await leaveWorkspaces(tx, toUserId);
  // Makes open streams check their caller again now.
  tx.outgoing.revoked.push(`user:${toUserId}`, `user:${fromUserId}`);
}

function unknownUser(pointer: string) {
  return invalid(pointer, 'reference', 'does not refer to an existing user');
}
