import { sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import { Condition } from '../../condition.ts';
import { query } from '../../query.ts';
import { workspacesOf } from '../../caller-scope.ts';
import type { Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { MemberRole } from '../people/members.ts';
import type { WorkspaceRow } from './workspaces.ts';

/** A user from the view of a grant in one workspace, under their row's lock. */
export type Grantee = Awaited<ReturnType<typeof lockGrantee>>;

/** A grant to be written. */
export interface Grant {
  readonly workspace: WorkspaceRow;
  readonly user: Grantee;
  readonly role: MemberRole;
}

/**
 * Returns a user of the workspace's organization whom the caller sees, locked, so that the home role can't change meanwhile. Throws 404. The workspace is
 * already locked, so the grant can't change either. `grantedRole` is as granted, possibly above today's home role; null without a grant.
 */
export async function lockGrantee(ctx: Scoped, workspace: WorkspaceRow, userId: string) {
  const found = await row(
    ctx.em,
    query
      .selectFrom('users as u')
      .leftJoin('workspace_grants as g', (join) => join.on('g.workspaceId', '=', workspace.id).onRef('g.userId', '=', 'u.id'))
      .select(['u.id', 'u.email', 'u.fullName', 'u.scope', 'u.workspaceId as homeWorkspaceId', 'u.isActive'])
      // A user of an organization is no operator.
      .select((eb) => eb.ref('u.role').$castTo<MemberRole>().as('homeRole'))
      .select(['g.role as grantedRole', 'g.grantedByUserId', 'g.updatedAt as grantedAt'])
      .where('u.id', '=', userId)
      .where('u.organizationId', '=', workspace.organizationId)
      .where('u.deletedAt', 'is', null)
      .where(granteesSeenBy(ctx))
      .forNoKeyUpdate('u'),
  );
  if (!found) throw fail('not_found');
  return found;
}

/** Which users `u` a caller may see as such: in all workspaces, or the caller's own, users of the whole organization, and those of the caller's workspaces. */
function granteesSeenBy({ caller }: Scoped): Condition {
  const visible = workspacesOf(caller);
  if (visible === null) return new Condition('true');
  return new Condition(
    `(u.id = ?::uuid or u.scope = 'organization' or u.workspace_id = any(?::uuid[])
      or exists (select from workspace_grants v where v.user_id = u.id and v.workspace_id = any(?::uuid[])))`,
    [caller.userId, visible, visible],
  );
}

/** Inserts or updates a grant. */
export async function writeGrant(tx: TenantTransaction, { workspace, user, role }: Grant, grantedBy: string | null) {
  return row(
    tx.em,
    query
      .insertInto('workspace_grants')
      .values({
        workspaceId: workspace.id,
        userId: user.id,
        organizationId: workspace.organizationId,
        role,
        grantedByUserId: grantedBy,
      })
      .onConflict((conflict) =>
        conflict.columns(['workspaceId', 'userId']).doUpdateSet(({ eb, ref }) => ({
          role: ref('excluded.role'),
          grantedByUserId: ref('excluded.grantedByUserId'),
          version: eb('workspace_grants.version', '+', 1),
          updatedAt: sql<string>`clock_timestamp()`,
        })),
      )
      .returning(['grantedByUserId', 'updatedAt as grantedAt']),
  );
}

/** Deletes a grant and revokes the keys that its user has made in the workspace; returns the number of grants, and the ids of the keys. */
export async function deleteGrant(tx: TenantTransaction, workspaceId: string, userId: string) {
  return row(
    tx.em,
    query
      .with('removed', (of) =>
        of.deleteFrom('workspace_grants').where('workspaceId', '=', workspaceId).where('userId', '=', userId).returning('userId'),
      )
      .with('keys', (of) =>
        of
          .updateTable('service_keys')
          .set(({ eb }) => ({ revokedAt: sql<string>`now()`, updatedAt: sql<string>`now()`, version: eb('version', '+', 1) }))
          .where('workspaceId', '=', workspaceId)
          .where('createdByUserId', '=', userId)
          .where('revokedAt', 'is', null)
          .returning('id'),
      )
      .selectNoFrom([
        sql<number>`(select count(*)::int from removed)`.as('removed'),
        sql<string[]>`coalesce((select json_agg(id) from keys), '[]')`.as('keyIds'),
      ]),
  );
}
