import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeAudit, type AuditSubject } from '../audit/audit.ts';
import { sweepReplies } from '../http/idempotency.ts';
import { newId } from '../ids.ts';
import { emptyOutgoing, organizationTenant, systemActor } from '../transaction.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { deleteSome, tablesOfWorkspace, type Deleted } from './purge-tables.ts';

/** An archived workspace whose time is over. */
export interface DueWorkspace {
  readonly id: string;
  readonly organizationId: string;
}

/** Archived workspaces past their `purge_after`, the longest due first. Sweeper's pool, as everything here. */
export function dueWorkspaces(em: SqlEntityManager, limit: number): Promise<DueWorkspace[]> {
  return rows<DueWorkspace>(
    em,
    `select w.id, w.organization_id as "organizationId" from workspaces w join organizations o on o.id = w.organization_id
      where not w.is_active and w.purge_after <= now() and o.purged_at is null
      order by w.purge_after limit ?`,
    [limit],
  );
}

/** Tables whose rows go, children first. */
export function tablesToClear(em: SqlEntityManager): string[] {
  return tablesOfWorkspace(em);
}

/**
 * Finds the people of a workspace another home before it goes: the workspace of their highest grant, with that rank. Who has none is erased: address, name
 * and credentials go, the id stays for what it has made. Each has an entry in the log. Repeatable; false when the workspace is not due any more.
 */
export async function rehouse(em: SqlEntityManager, workspace: DueWorkspace): Promise<boolean> {
  const { id } = workspace;
  // Written, not only locked: a restore that waits for it looks at the clock again.
  const due = 'update workspaces set version = version + 1 where id = ? and not is_active and purge_after <= now()';
  if ((await change(em, due, [id])) === 0) return false;
  await change(em, 'update impersonations set workspace_id = null where workspace_id = ?', [id]);
  const moved = await rows<{ id: string; workspace_id: string }>(
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
    [id],
  );
  for (const user of moved)
    await note(em, workspace, { action: 'update', userId: user.id, changes: { workspace_id: { from: id, to: user.workspace_id } } });
  for (const userId of await eraseHomeless(em, workspace)) await note(em, workspace, { action: 'delete', userId, changes: {} });
  return true;
}

/** Deletes up to 5,000 rows of one table. */
export function clearTable(
  em: SqlEntityManager,
  workspace: DueWorkspace,
  { table, after }: { readonly table: string; readonly after: string | null },
): Promise<Deleted> {
  const place = { organizationId: workspace.organizationId, workspaceId: workspace.id };
  return deleteSome(em, { table, tables: tablesOfWorkspace(em), place }, after);
}

/** Removes the empty workspace and notes it in its organization's log, in one transaction. A repeat finds it gone. */
export async function removeWorkspace(em: SqlEntityManager, { id, organizationId }: DueWorkspace): Promise<void> {
  const removed = await row<{ slug: string }>(
    em,
    'delete from workspaces where id = ? and not is_active and purge_after <= now() returning slug',
    [id],
  );
  if (!removed) return;
  const subject = { resourceType: 'workspace', resourceId: id, label: removed.slug, organizationId, changes: {} };
  await writeAudit(transactionOf(em, organizationId), { action: 'purge', operationId: null, note: subject, ip: null, userAgent: null });
}

interface PersonNote {
  readonly action: 'update' | 'delete';
  readonly userId: string;
  readonly changes: NonNullable<AuditSubject['changes']>;
}

async function note(em: SqlEntityManager, { organizationId }: DueWorkspace, { action, userId, changes }: PersonNote): Promise<void> {
  const subject = { resourceType: 'user', resourceId: userId, organizationId, changes };
  await writeAudit(transactionOf(em, organizationId), { action, operationId: null, note: subject, ip: null, userAgent: null });
}

function transactionOf(em: SqlEntityManager, organizationId: string): TenantTransaction {
  return { em, tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() };
}

/** Gives those who were not deleted before. */
async function eraseHomeless(em: SqlEntityManager, { id: workspaceId, organizationId }: DueWorkspace): Promise<string[]> {
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
  // Invitations hold the address too, also those to another workspace.
  await change(
    em,
    `delete from invitations i using users u where u.id = any (?::uuid[]) and i.organization_id = u.organization_id
        and (i.accepted_user_id = u.id or i.email = u.email)`,
    [ids],
  );
  // Without a home a row can only be the organization's; deleted, it has no right anywhere.
  await change(
    em,
    `update users set email = '', full_name = null, locale = null, role = 'viewer', scope = 'organization', workspace_id = null, is_active = false,
            deactivated_at = coalesce(deactivated_at, now()), deleted_at = coalesce(deleted_at, now()), updated_at = now(), version = version + 1
      where id = any (?::uuid[])`,
    [ids],
  );
  return homeless.filter((user) => !user.is_erased).map((user) => user.id);
}
