import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A user of whom the ownership of an organization goes, or to whom. */
export interface Party {
  readonly id: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly is_active: boolean;
}

/** Those among some users who are of an organization, locked in the order of their ids. */
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

/** Ends the grants of a user who sees every workspace now and has no home; grants would come back to life should the user be narrowed again. */
export async function leaveWorkspaces(tx: TenantTransaction, userId: string): Promise<void> {
  await change(
    tx.em,
    `with ended as (delete from workspace_grants where user_id = ?)
     update sessions set workspace_id = null where user_id = ? and revoked_at is null`,
    [userId, userId],
  );
}
