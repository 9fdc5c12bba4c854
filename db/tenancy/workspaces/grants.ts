import type { Scope } from '../../../workflows/contracts/access.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { workspacesOf } from '../../reach.ts';
import type { Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { MemberRole } from '../people/members.ts';
import type { WorkspaceRow } from './workspaces.ts';

/** A user from the view of a grant in one workspace, under their row's lock. */
export interface Grantee {
  readonly id: string;
  readonly email: string;
  readonly full_name: string | null;
  readonly home_role: MemberRole;
  readonly scope: Scope;
  readonly home_workspace_id: string | null;
  readonly is_active: boolean;
  /** As granted, possibly above today's home role; null without a grant. */
  readonly granted_role: MemberRole | null;
  readonly granted_by_user_id: string | null;
  readonly granted_at: Date | string | null;
}

/** A grant to be written. */
export interface Grant {
  readonly workspace: WorkspaceRow;
  readonly user: Grantee;
  readonly role: MemberRole;
}

/**
 * Returns a user of the workspace's organization whom the caller sees, locked, so that the home role can't change meanwhile. Throws 404. The workspace is
 * already locked, so the grant can't change either.
 */
export async function lockGrantee(ctx: Scoped, workspace: WorkspaceRow, userId: string): Promise<Grantee> {
  const visible = workspacesOf(ctx.caller);
  const found = await row<Grantee>(
    ctx.em,
    `select u.id, u.email, u.full_name, u.role as home_role, u.scope, u.workspace_id as home_workspace_id, u.is_active,
        g.role as granted_role, g.granted_by_user_id, g.updated_at as granted_at
       from users u left join workspace_grants g on g.workspace_id = ?::uuid and g.user_id = u.id
      where u.id = ?::uuid and u.organization_id = ?::uuid and u.deleted_at is null
        and (?::boolean or u.id = ?::uuid or u.scope = 'organization' or u.workspace_id = any(?::uuid[])
          or exists (select from workspace_grants v where v.user_id = u.id and v.workspace_id = any(?::uuid[])))
      for no key update of u`,
    [workspace.id, userId, workspace.organization_id, visible === null, ctx.caller.userId, visible ?? [], visible ?? []],
  );
  if (!found) throw fail('not_found');
  return found;
}

/** Inserts or updates a grant. */
export function writeGrant(
  tx: TenantTransaction,
  { workspace, user, role }: Grant,
  grantedBy: string | null,
): Promise<Pick<Grantee, 'granted_by_user_id' | 'granted_at'> | null> {
  return row<Pick<Grantee, 'granted_by_user_id' | 'granted_at'>>(
    tx.em,
    `insert into workspace_grants as g (workspace_id, user_id, organization_id, role, granted_by_user_id) values (?, ?, ?, ?, ?)
     on conflict (workspace_id, user_id) do update
       set role = excluded.role, granted_by_user_id = excluded.granted_by_user_id, version = g.version + 1, updated_at = clock_timestamp()
     returning granted_by_user_id, updated_at as granted_at`,
    [workspace.id, user.id, workspace.organization_id, role, grantedBy],
  );
}

/** Deletes a grant and revokes the keys that its user has made in the workspace; returns the number of grants, and the ids of the keys. */
export function deleteGrant(
  tx: TenantTransaction,
  workspaceId: string,
  userId: string,
): Promise<{ readonly removed: number; readonly key_ids: readonly string[] } | null> {
  return row<{ removed: number; key_ids: string[] }>(
    tx.em,
    `with removed as (delete from workspace_grants where workspace_id = ?::uuid and user_id = ?::uuid returning 1),
       keys as (
         update service_keys set revoked_at = now(), updated_at = now(), version = version + 1
         where workspace_id = ?::uuid and created_by_user_id = ?::uuid and revoked_at is null returning id)
     select (select count(*)::int from removed) as removed, coalesce((select json_agg(id) from keys), '[]') as key_ids`,
    [workspaceId, userId, workspaceId, userId],
  );
}
