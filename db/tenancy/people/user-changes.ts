import { sql, type UpdateObject } from 'kysely';
import { clockTime } from '../../expressions.ts';
import { query } from '../../query.ts';
import type { Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { hasFactor, userColumns, userColumnsOfU, usersSeenBy, type StoredUser } from '../../identity/people/users.ts';

/** Role, scope and home of a user, which change together. */
export type Standing = Pick<StoredUser, 'role' | 'scope' | 'workspaceId'>;

/** A user under their row's lock, with the state of organization and home, null where there is none. */
export type LockedUser = NonNullable<Awaited<ReturnType<typeof findUserForChange>>>;

const isLast = sql<boolean>`case when u.role = 'owner' and u.scope = 'organization' and u.is_active then not exists (
    select from users other where other.organization_id = u.organization_id and other.id <> u.id and other.scope = 'organization'
      and other.role = 'owner' and other.is_active and other.deleted_at is null)
  when u.role = 'operator' and u.is_active then not exists (
    select from users other where other.scope = 'platform' and other.id <> u.id and other.is_active and other.deleted_at is null)
  else false end`;

/** Locks the organization of a user. */
export async function lockOrganizationOf(tx: Pick<TenantTransaction, 'em'>, userId: string): Promise<void> {
  const organizationId = query
    .selectFrom('users as u')
    .select(({ ref }) => ref('u.organizationId').$notNull().as('organizationId'))
    .where('u.id', '=', userId);
  await row(tx.em, query.selectFrom('organizations as o').select('o.id').where('o.id', '=', organizationId).forNoKeyUpdate());
}

/** Locks all operators if the user is one of them. */
export async function lockOperators(tx: Pick<TenantTransaction, 'em'>, userId: string): Promise<void> {
  await rows(
    tx.em,
    query
      .selectFrom('users as u')
      .select('u.id')
      .where('u.scope', '=', 'platform')
      .where('u.deletedAt', 'is', null)
      .where(({ exists, selectFrom }) =>
        exists(selectFrom('users as target').select('target.id').where('target.id', '=', userId).where('target.scope', '=', 'platform')),
      )
      .orderBy('u.id')
      .forNoKeyUpdate(),
  );
}

/**
 * Returns a user whom the caller sees, locked, with the state of organization and home; null when there is none. `isLast`: the only active owner of a whole
 * organization, or the only active operator; reliable only for users locked with `mayLoseOwner`.
 */
export async function findUserForChange(ctx: Scoped, id: string) {
  return row(
    ctx.em,
    query
      .selectFrom('users as u')
      .leftJoin('organizations as o', 'o.id', 'u.organizationId')
      .leftJoin('workspaces as w', 'w.id', 'u.workspaceId')
      .select(userColumnsOfU)
      .select(({ ref }) => [hasFactor(ref('u.id')).as('mfaEnabled'), 'u.version', isLast.as('isLast')])
      .select(['o.status as organizationStatus', 'w.isActive as isHomeActive'])
      .where('u.id', '=', id)
      .where(usersSeenBy(ctx.caller))
      .forNoKeyUpdate('u'),
  );
}

/** Writes the name of a user if the row still has this version; returns null when it has another. The functions below do the same. */
export function writeFullName(tx: TenantTransaction, locked: StoredUser, fullName: string | null): Promise<StoredUser | null> {
  return update(tx, locked, { fullName });
}

/** Writes role, scope and home of a user. */
export function writeStanding(
  tx: TenantTransaction,
  locked: StoredUser,
  { role, scope, workspaceId }: Standing,
): Promise<StoredUser | null> {
  return update(tx, locked, { role, scope, workspaceId });
}

/**
 * Ends the grants of a user in a new home, or all of them without a home, moves their sessions there, and revokes their keys where they no longer have a right;
 * returns the ids of these keys.
 */
export async function leaveOtherPlaces(tx: TenantTransaction, userId: string, workspaceId: string | null): Promise<readonly string[]> {
  const left = await row(
    tx.em,
    query
      .with('ended', (of) =>
        of
          .deleteFrom('workspace_grants')
          .where('userId', '=', userId)
          .where(sql<boolean>`(${workspaceId}::uuid is null or workspace_id = ${workspaceId}::uuid)`),
      )
      .with('moved', (of) => of.updateTable('sessions').set({ workspaceId }).where('userId', '=', userId).where('revokedAt', 'is', null))
      .with('keys', (of) =>
        of
          .updateTable('service_keys')
          .set(({ eb }) => ({ revokedAt: sql<string>`now()`, updatedAt: sql<string>`now()`, version: eb('version', '+', 1) }))
          .where('createdByUserId', '=', userId)
          .where('revokedAt', 'is', null)
          .where(
            sql<boolean>`${workspaceId}::uuid is not null and (service_keys.workspace_id is null
              or (service_keys.workspace_id <> ${workspaceId}::uuid and not exists (
                select from workspace_grants g where g.user_id = service_keys.created_by_user_id and g.workspace_id = service_keys.workspace_id)))`,
          )
          .returning('id'),
      )
      .selectFrom('keys')
      .select(({ ref }) => sql<string[]>`coalesce(json_agg(${ref('keys.id')}), '[]')`.as('keyIds')),
  );
  return left?.keyIds ?? [];
}

/** Stores whether a user may sign in. */
export function writeActive(tx: TenantTransaction, locked: StoredUser, isActive: boolean): Promise<StoredUser | null> {
  return update(tx, locked, { isActive, deactivatedAt: isActive ? null : clockTime });
}

/** Marks a user as deleted, without address, name and language. */
export function writeErased(tx: TenantTransaction, locked: StoredUser): Promise<StoredUser | null> {
  return update(tx, locked, {
    email: '',
    fullName: null,
    locale: null,
    isActive: false,
    deactivatedAt: sql<string>`coalesce(deactivated_at, clock_timestamp())`,
    deletedAt: clockTime,
  });
}

/** Ends what a user has made and holds; returns the ids of the keys. */
export async function leaveOwnThings(
  tx: TenantTransaction,
  userId: string,
  { erases }: { readonly erases: boolean },
): Promise<readonly string[]> {
  const leaving = query.selectNoFrom(sql<string[]>`gate_leave(${userId}::uuid, false)`.as('keyIds'));
  const ended = await row(tx.em, erases ? erasing(userId) : leaving);
  return ended?.keyIds ?? [];
}

// Replies before invitations, since the replies are found through the invitations: the CTEs selected from are evaluated first.
function erasing(userId: string) {
  return query
    .with(
      (cte) => cte('replies').materialized(),
      () => query.selectNoFrom(sql<unknown>`gate_forget_replies(array[${userId}::uuid], '{}')`.as('forgotten')),
    )
    .with(
      (cte) => cte('connections').materialized(),
      () => query.selectNoFrom(sql<unknown>`gate_erase_connections(${userId}::uuid)`.as('erased')),
    )
    .with(
      (cte) => cte('knowledge').materialized(),
      () => query.selectNoFrom(sql<unknown>`gate_erase_knowledge(${userId}::uuid)`.as('erased')),
    )
    .selectFrom(['replies', 'connections', 'knowledge'])
    .select(sql<string[]>`gate_leave(${userId}::uuid, true)`.as('keyIds'));
}

async function update(tx: TenantTransaction, locked: StoredUser, set: UpdateObject<Tables, 'users'>): Promise<StoredUser | null> {
  return row(
    tx.em,
    query
      .updateTable('users')
      .set(set)
      .set(({ eb }) => ({ version: eb('version', '+', 1), updatedAt: clockTime }))
      .where('id', '=', locked.id)
      .where('version', '=', locked.version)
      .returning(userColumns)
      .returning(({ ref }) => [hasFactor(ref('users.id')).as('mfaEnabled'), 'version']),
  );
}
