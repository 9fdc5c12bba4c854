import { sql } from 'kysely';
import type { Role } from '../../../workflows/contracts/access.ts';
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
    query
      .updateTable('users')
      .set(({ eb }) => ({
        role: sql<Role>`case id when ${toUserId}::uuid then 'owner' else 'admin' end`,
        scope: 'organization' as const,
        workspaceId: null,
        version: eb('version', '+', 1),
        updatedAt: sql<string>`clock_timestamp()`,
      }))
      .where(sql<boolean>`id = any(${[toUserId, fromUserId]}::uuid[])`)
      .where(({ and, eb, not }) => not(and([eb('id', '=', toUserId), eb('role', '=', 'owner'), eb('scope', '=', 'organization')]))),
  );
}

/** Ends the grants of a user who now sees every workspace and has no home; otherwise they would become effective again if the user were narrowed later. */
export async function leaveWorkspaces(tx: TenantTransaction, userId: string): Promise<void> {
  await change(
    tx.em,
    query
      .with('ended', (of) => of.deleteFrom('workspace_grants').where('userId', '=', userId))
      .updateTable('sessions')
      .set({ workspaceId: null })
      .where('userId', '=', userId)
      .where('revokedAt', 'is', null),
  );
}
