import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Returns those of the given users who belong to the organization, locked in the order of their ids. */
export async function lockParties(tx: TenantTransaction, organizationId: string, userIds: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('users as u')
      .select(['u.id', 'u.role', 'u.scope', 'u.isActive'])
      .where('u.organizationId', '=', organizationId)
      .where(sql<boolean>`u.id = any(${userIds}::uuid[])`)
      .where('u.deletedAt', 'is', null)
      .orderBy('u.id')
      .forNoKeyUpdate(),
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
