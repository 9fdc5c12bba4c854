import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sweepReplies } from '../http/idempotency.ts';
import { change, row, rows } from '../sql.ts';
import type { DueWorkspace } from './due-workspaces.ts';

/** Erases the users whose home is a workspace; returns those who were not deleted before. */
export async function eraseHomeless(em: SqlEntityManager, { id: workspaceId, organizationId }: DueWorkspace): Promise<string[]> {
  const homeless = await rows<{ id: string; is_erased: boolean }>(
    em,
    'select id, deleted_at is not null as is_erased from users where workspace_id = ?',
    [workspaceId],
  );
  if (homeless.length === 0) return [];
  const ids = homeless.map((user) => user.id);
  await sweepReplies(em, organizationId, ids);
  const granted = "select id from mcp_connections where principal_kind = 'user' and principal_id = any (?::uuid[])";
  await change(em, `delete from mcp_authorizations where connection_id in (${granted})`, [ids]);
  await change(em, `delete from mcp_connections where id in (${granted})`, [ids]);

  await change(em, "delete from knowledge_grants where principal_kind = 'user' and principal_id = any (?::uuid[])", [ids]);
  await change(
    em,
    `update knowledge_bases set deleted_at = coalesce(deleted_at, now()), is_frozen = true, version = version + 1, updated_at = now()
      where organization_id = ? and subject_kind = 'user' and subject_id = any (?::text[])`,
    [organizationId, ids],
  );

  for (const table of [
    'oauth_codes',
    'refresh_tokens',
    'sessions',
    'auth_challenges',
    'recovery_codes',
    'totp_factors',
    'user_credentials',
    'workspace_grants',
  ])
    await change(em, `delete from ${table} where user_id = any (?::uuid[])`, [ids]);
  await change(em, 'update service_keys set revoked_at = coalesce(revoked_at, now()) where created_by_user_id = any (?::uuid[])', [ids]);
  // Invitations contain the address too, including those to another workspace.
  await change(
    em,
    `delete from invitations i using users u where u.id = any (?::uuid[]) and i.organization_id = u.organization_id
        and (i.accepted_user_id = u.id or i.email = u.email)`,
    [ids],
  );
  // Without a home a row can only belong to the organization; a deleted user has no right anywhere.
  await change(
    em,
    `update users set email = '', full_name = null, locale = null, role = 'viewer', scope = 'organization', workspace_id = null, is_active = false,
            deactivated_at = coalesce(deactivated_at, now()), deleted_at = coalesce(deleted_at, now()), updated_at = now(), version = version + 1
      where id = any (?::uuid[])`,
    [ids],
  );
  return homeless.filter((user) => !user.is_erased).map((user) => user.id);
}

/** Locks a due workspace against a restore; returns false when it is no longer due. */
export async function holdDue(em: SqlEntityManager, workspaceId: string): Promise<boolean> {
  // Written, not only locked: a restore that waits for the lock checks the clock again.
  const due = 'update workspaces set version = version + 1 where id = ? and not is_active and purge_after <= now()';
  return (await change(em, due, [workspaceId])) > 0;
}

/** Removes a workspace from impersonations. */
export async function leaveImpersonations(em: SqlEntityManager, workspaceId: string): Promise<void> {
  await change(em, 'update impersonations set workspace_id = null where workspace_id = ?', [workspaceId]);
}

/** Moves the people of a workspace to the workspace of their highest grant, with at most that rank; returns them with their new homes. */
export function moveHomes(em: SqlEntityManager, workspaceId: string): Promise<{ readonly id: string; readonly workspace_id: string }[]> {
  return rows<{ id: string; workspace_id: string }>(
    em,
    `with homes as (
       select distinct on (g.user_id) g.user_id, g.workspace_id, g.role
         from workspace_grants g join users u on u.id = g.user_id join workspaces w on w.id = g.workspace_id
        where u.workspace_id = ?::uuid and u.deleted_at is null and w.is_active
        order by g.user_id, array_position(array['owner', 'admin', 'member', 'viewer'], g.role::text), g.workspace_id
     ), moved as (
       update users u set workspace_id = h.workspace_id, updated_at = now(), version = u.version + 1,
              role = case when array_position(array['viewer', 'member', 'admin', 'owner'], h.role::text)
                             < array_position(array['viewer', 'member', 'admin', 'owner'], u.role::text) then h.role::text else u.role end
         from homes h where u.id = h.user_id
       returning u.id, u.workspace_id
     ), seats as (
       update sessions s set workspace_id = m.workspace_id from moved m where s.user_id = m.id
     ), seated as (
       delete from workspace_grants g using moved m where g.user_id = m.id and g.workspace_id = m.workspace_id
     )
     select id, workspace_id from moved`,
    [workspaceId],
  );
}

/** Deletes a due workspace and returns its slug, or null when it is already deleted or no longer due. */
export async function deleteDueWorkspace(em: SqlEntityManager, workspaceId: string): Promise<string | null> {
  const removed = await row<{ slug: string }>(
    em,
    'delete from workspaces where id = ? and not is_active and purge_after <= now() returning slug',
    [workspaceId],
  );
  return removed?.slug ?? null;
}
