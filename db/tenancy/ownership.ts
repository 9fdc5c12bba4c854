import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Role, Scope } from '../../workflows/contracts/access.ts';
import { change, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

export interface Transfer {
  readonly organizationId: string;
  /** Becomes an owner of the whole organization. */
  readonly toUserId: string;
  /** Becomes an admin. */
  readonly fromUserId: string;
}

interface Party {
  readonly id: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly is_active: boolean;
}

/**
 * Hands the ownership of an organization from one of its owners to another user, whose organization is locked by the transaction. 422
 * `reference` for somebody who is none of the organization's users, 409 `target_inactive`, `not_owner`, `own_account`.
 */
export async function handOver(tx: TenantTransaction, { organizationId, toUserId, fromUserId }: Transfer): Promise<void> {
  const parties = await rows<Party>(
    tx.em,
    `select id, role, scope, is_active from users where organization_id = ? and id = any(?::uuid[]) and deleted_at is null
      order by id for no key update`,
    [organizationId, [toUserId, fromUserId]],
  );
  const target = parties.find(({ id }) => id === toUserId);
  const giver = parties.find(({ id }) => id === fromUserId);

  if (!target) throw unknownUser('/user_id');
  if (!giver) throw unknownUser('/from_user_id');
  if (target === giver) throw fail('state_conflict', { reason: 'own_account', detail: 'an owner hands over to somebody else' });
  if (!target.is_active) throw fail('state_conflict', { reason: 'target_inactive' });
  if (giver.role !== 'owner' || giver.scope !== 'organization') throw fail('state_conflict', { reason: 'not_owner' });

  await change(
    tx.em,
    `update users set role = case id when ?::uuid then 'owner' else 'admin' end, scope = 'organization', workspace_id = null,
       version = version + 1, updated_at = clock_timestamp()
      where id = any(?::uuid[]) and not (id = ?::uuid and role = 'owner' and scope = 'organization')`,
    [toUserId, [toUserId, fromUserId], toUserId],
  );
  if (target.scope === 'workspace') await leaveWorkspaces(tx, toUserId);
  // Open streams are looked at again now.
  tx.outgoing.revoked.push(`user:${toUserId}`, `user:${fromUserId}`);
}

// Who sees every workspace has no home and no grants; grants would come back to life should the user be narrowed again.
async function leaveWorkspaces(tx: TenantTransaction, userId: string): Promise<void> {
  await change(
    tx.em,
    `with ended as (delete from workspace_grants where user_id = ?)
     update sessions set workspace_id = null where user_id = ? and revoked_at is null`,
    [userId, userId],
  );
}

function unknownUser(pointer: string) {
  return invalid(pointer, 'reference', 'refers to a user who does not exist');
}
