import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { now } from '../expressions.ts';
import type { Role } from '../../workflows/contracts/access.ts';
import { sweepReplies } from '../http/idempotency.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { DueWorkspace } from './due-workspaces.ts';

/** Erases the users whose home is a workspace; returns those who were not deleted before. */
export async function eraseHomeless(em: SqlEntityManager, { id: workspaceId, organizationId }: DueWorkspace): Promise<string[]> {
  const homeless = await rows(
    em,
    query
      .selectFrom('users')
      .select('id')
      .select(({ eb }) => eb('deletedAt', 'is not', null).as('isErased'))
      .where('workspaceId', '=', workspaceId),
  );
  if (homeless.length === 0) return [];
  const ids = homeless.map((user) => user.id);
  await sweepReplies(em, organizationId, ids);
  await dropConsents(em, ids);
  await deleteBases(em, organizationId, ids);
  for (const table of tablesOfPerson) await change(em, query.deleteFrom(table).where(sql<boolean>`user_id = any(${ids}::uuid[])`));
  await endKeys(em, ids);
  await dropInvitations(em, ids);
  await eraseUsers(em, ids);
  return homeless.filter((user) => !user.isErased).map((user) => user.id);
}

const tablesOfPerson = [
  'oauth_codes',
  'refresh_tokens',
  'sessions',
  'auth_challenges',
  'recovery_codes',
  'totp_factors',
  'user_credentials',
  'workspace_grants',
] as const;

/** Deletes what people have granted on other servers, and the grants they have on knowledge bases. */
async function dropConsents(em: SqlEntityManager, userIds: readonly string[]): Promise<void> {
  const granted = query
    .selectFrom('mcp_connections')
    .select('id')
    .where('principalKind', '=', 'user')
    .where(sql<boolean>`principal_id = any(${userIds}::uuid[])`);
  await change(em, query.deleteFrom('mcp_authorizations').where('connectionId', 'in', granted));
  await change(em, query.deleteFrom('mcp_connections').where('id', 'in', granted));
  await change(
    em,
    query
      .deleteFrom('knowledge_grants')
      .where('principalKind', '=', 'user')
      .where(sql<boolean>`principal_id = any(${userIds}::uuid[])`),
  );
}

async function deleteBases(em: SqlEntityManager, organizationId: string, userIds: readonly string[]): Promise<void> {
  await change(
    em,
    query
      .updateTable('knowledge_bases')
      .set(({ eb, fn }) => ({
        deletedAt: fn.coalesce('deletedAt', now),
        isFrozen: true,
        version: eb('version', '+', 1),
        updatedAt: now,
      }))
      .where('organizationId', '=', organizationId)
      .where('subjectKind', '=', 'user')
      .where(sql<boolean>`subject_id = any(${userIds}::text[])`),
  );
}

async function endKeys(em: SqlEntityManager, userIds: readonly string[]): Promise<void> {
  await change(
    em,
    query
      .updateTable('service_keys')
      .set(({ fn, ref }) => ({ revokedAt: fn.coalesce('revokedAt', now), updatedAt: ref('updatedAt') }))
      .where(sql<boolean>`created_by_user_id = any(${userIds}::uuid[])`),
  );
}

/** Invitations contain the address too, including those to another workspace. */
async function dropInvitations(em: SqlEntityManager, userIds: readonly string[]): Promise<void> {
  await change(
    em,
    query
      .deleteFrom('invitations as i')
      .using('users as u')
      .where(sql<boolean>`u.id = any(${userIds}::uuid[])`)
      .whereRef('i.organizationId', '=', 'u.organizationId')
      .where(({ eb, or, ref }) => or([eb('i.acceptedUserId', '=', ref('u.id')), eb('i.email', '=', ref('u.email'))])),
  );
}

/** Without a home a row can only belong to the organization; a deleted user has no right anywhere. */
async function eraseUsers(em: SqlEntityManager, ids: readonly string[]): Promise<void> {
  await change(
    em,
    query
      .updateTable('users')
      .set(({ eb, fn }) => ({
        email: '',
        fullName: null,
        locale: null,
        role: 'viewer',
        scope: 'organization',
        workspaceId: null,
        isActive: false,
        deactivatedAt: fn.coalesce('deactivatedAt', now),
        deletedAt: fn.coalesce('deletedAt', now),
        updatedAt: now,
        version: eb('version', '+', 1),
      }))
      .where(sql<boolean>`id = any(${ids}::uuid[])`),
  );
}

/** Locks a due workspace against a restore; returns false when it is no longer due. */
export async function holdDue(em: SqlEntityManager, workspaceId: string): Promise<boolean> {
  // Written, not only locked: a restore that waits for the lock checks the clock again.
  const held = query
    .updateTable('workspaces')
    .set(({ eb, ref }) => ({ version: eb('version', '+', 1), updatedAt: ref('updatedAt') }))
    .where('id', '=', workspaceId)
    .where(({ not, ref }) => not(ref('isActive')))
    .where('purgeAfter', '<=', now);
  return (await change(em, held)) > 0;
}

/** Removes a workspace from impersonations. */
export async function leaveImpersonations(em: SqlEntityManager, workspaceId: string): Promise<void> {
  await change(em, query.updateTable('impersonations').set({ workspaceId: null }).where('workspaceId', '=', workspaceId));
}

/** The lower of two roles, by their columns. */
const lowerRole = sql<Role>`case when array_position(array['viewer', 'member', 'admin', 'owner'], h.role::text)
  < array_position(array['viewer', 'member', 'admin', 'owner'], users.role::text) then h.role::text else users.role end`;

/** Moves the people of a workspace to the workspace of their highest grant, with at most that rank; returns them with their new homes. */
export function moveHomes(em: SqlEntityManager, workspaceId: string) {
  return rows(
    em,
    query
      .with('homes', (of) =>
        of
          .selectFrom('workspace_grants as g')
          .innerJoin('users as u', 'u.id', 'g.userId')
          .innerJoin('workspaces as w', 'w.id', 'g.workspaceId')
          .distinctOn('g.userId')
          .select(['g.userId', 'g.workspaceId', 'g.role'])
          .where('u.workspaceId', '=', workspaceId)
          .where('u.deletedAt', 'is', null)
          .where(({ ref }) => ref('w.isActive'))
          .orderBy('g.userId')
          .orderBy(sql`array_position(array['owner', 'admin', 'member', 'viewer'], g.role::text)`)
          .orderBy('g.workspaceId'),
      )
      .with('moved', (of) =>
        of
          .updateTable('users')
          .from('homes as h')
          .set(({ eb, ref }) => ({
            workspaceId: ref('h.workspaceId'),
            updatedAt: now,
            version: eb('users.version', '+', 1),
            role: lowerRole,
          }))
          .whereRef('users.id', '=', 'h.userId')
          .returning(['users.id', 'h.workspaceId']),
      )
      .with('seats', (of) =>
        of
          .updateTable('sessions')
          .from('moved as m')
          .set(({ ref }) => ({ workspaceId: ref('m.workspaceId') }))
          .whereRef('sessions.userId', '=', 'm.id'),
      )
      .with('seated', (of) =>
        of
          .deleteFrom('workspace_grants as g')
          .using('moved as m')
          .whereRef('g.userId', '=', 'm.id')
          .whereRef('g.workspaceId', '=', 'm.workspaceId'),
      )
      .selectFrom('moved')
      .select(['id', 'workspaceId']),
  );
}

/** Deletes a due workspace and returns its slug, or null when it is already deleted or no longer due. */
export async function deleteDueWorkspace(em: SqlEntityManager, workspaceId: string): Promise<string | null> {
  const removed = await row(
    em,
    query
      .deleteFrom('workspaces')
      .where('id', '=', workspaceId)
      .where(({ not, ref }) => not(ref('isActive')))
      .where('purgeAfter', '<=', now)
      .returning('slug'),
  );
  return removed?.slug ?? null;
}
