import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A user who passes on or receives the ownership of an organization. */
export interface Party {
  readonly id: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly is_active: boolean;
}

/** Returns those of the given users who belong to the organization, locked in the order of their ids. */
export function lockParties(tx: TenantTransaction, organizationId: string, userIds: readonly string[]): Promise<Party[]> {
  return rows<Party>(
    tx.em,
    `select id, role, scope, is_active from users where organization_id = ? and id = any(?::uuid[]) and deleted_at is null
      order by id for no key update`,
    [organizationId, userIds],
  );
}

/** Makes one user an owner of the whole organization and the other an admin of it. */
export async function writeOwner(tx: TenantTransaction, toUserId: string, fromUserId: string): Promise<void> {
  await change(
    tx.em,
    `update users set role = case id when ?::uuid then 'owner' else 'admin' end, scope = 'organization', workspace_id = null,
       version = version + 1, updated_at = clock_timestamp()
      where id = any(?::uuid[]) and not (id = ?::uuid and role = 'owner' and scope = 'organization')`,
    [toUserId, [toUserId, fromUserId], toUserId],
  );
}

/** Ends the grants of a user who now sees every workspace and has no home; otherwise they would become effective again if the user were narrowed later. */
export async function leaveWorkspaces(tx: TenantTransaction, userId: string): Promise<void> {
  await change(
    tx.em,
    `with ended as (delete from workspace_grants where user_id = ?)
     update sessions set workspace_id = null where user_id = ? and revoked_at is null`,
    [userId, userId],
  );
}
