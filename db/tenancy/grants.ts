import { rankOf, type Scope } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { workspacesOf } from '../reach.ts';
import type { Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { MemberRole, MemberRow } from './members.ts';
import type { WorkspaceRow } from './workspaces.ts';

/** A user as a grant in one workspace sees them, under their row's lock. */
export interface Grantee {
  readonly id: string;
  readonly email: string;
  readonly full_name: string | null;
  readonly home_role: MemberRole;
  readonly scope: Scope;
  readonly home_workspace_id: string | null;
  readonly is_active: boolean;
  /** As granted, which may be above the home role of today; null without a grant. */
  readonly granted_role: MemberRole | null;
  readonly granted_by_user_id: string | null;
  readonly granted_at: Date | string | null;
}

interface Grant {
  readonly workspace: WorkspaceRow;
  readonly user: Grantee;
  readonly role: MemberRole;
}

/**
 * A user of the workspace's organization whom the caller sees, locked, so that the home role can't change meanwhile. Throws 404. The
 * workspace is locked already, which keeps the grant as it is read.
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

/** 409 for a user who is a member without any grant: `organization_scoped`, `home_member`. */
export function refuseUngranted(workspace: WorkspaceRow, user: Grantee): void {
  if (user.scope !== 'workspace') throw fail('state_conflict', { reason: 'organization_scoped' });
  if (user.home_workspace_id === workspace.id) throw fail('state_conflict', { reason: 'home_member' });
}

/** Writes or changes a grant. 409 `above_home_role`. Gives the member; a role that is held already changes nothing. */
export async function putGrant(tx: TenantTransaction, grant: Grant, grantedBy: string | null): Promise<MemberRow> {
  const { workspace, user, role } = grant;
  if (rankOf(role) > rankOf(user.home_role)) throw fail('state_conflict', { reason: 'above_home_role' });
  if (user.granted_role === role) return memberOf(grant);

  const written = await row<Pick<Grantee, 'granted_by_user_id' | 'granted_at'>>(
    tx.em,
    `insert into workspace_grants as g (workspace_id, user_id, organization_id, role, granted_by_user_id) values (?, ?, ?, ?, ?)
     on conflict (workspace_id, user_id) do update
       set role = excluded.role, granted_by_user_id = excluded.granted_by_user_id, version = g.version + 1, updated_at = clock_timestamp()
     returning granted_by_user_id, updated_at as granted_at`,
    [workspace.id, user.id, workspace.organization_id, role, grantedBy],
  );
  // Open streams are looked at again now.
  tx.outgoing.revoked.push(`user:${user.id}`);
  return memberOf({ ...grant, user: { ...user, ...written } });
}

/** Ends a grant, and for good the keys that its user has made in the workspace. 404 when there is none. */
export async function removeGrant(tx: TenantTransaction, workspace: WorkspaceRow, user: Grantee): Promise<void> {
  const ended = await row<{ removed: number; key_ids: string[] }>(
    tx.em,
    `with removed as (delete from workspace_grants where workspace_id = ?::uuid and user_id = ?::uuid returning 1),
       keys as (
         update service_keys set revoked_at = now(), updated_at = now(), version = version + 1
         where workspace_id = ?::uuid and created_by_user_id = ?::uuid and revoked_at is null returning id)
     select (select count(*)::int from removed) as removed, coalesce((select json_agg(id) from keys), '[]') as key_ids`,
    [workspace.id, user.id, workspace.id, user.id],
  );
  if (!ended || ended.removed === 0) throw fail('not_found');
  tx.outgoing.revoked.push(...ended.key_ids.map((id) => `service_key:${id}`));
  tx.outgoing.revoked.push(`user:${user.id}`);
}

function memberOf({ workspace, user, role }: Grant): MemberRow {
  return {
    workspace_id: workspace.id,
    user_id: user.id,
    email: user.email,
    full_name: user.full_name,
    role,
    home_role: user.home_role,
    source: 'grant',
    is_active: user.is_active,
    granted_by_user_id: user.granted_by_user_id,
    granted_at: user.granted_at,
  };
}
