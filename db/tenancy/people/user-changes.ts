import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import type { Predicate, Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { storedUserColumns, usersSeenBy, type StoredUser } from './users.ts';

/** Role, scope and home of a user, which change together. */
export interface Standing {
  readonly role: Role;
  readonly scope: Scope;
  readonly workspaceId: string | null;
}

/** A user under their row's lock. */
export interface LockedUser extends StoredUser {
  /** The only active owner of a whole organization, or the only active operator; reliable only for users locked with `mayLoseOwner`. */
  readonly is_last: boolean;
}

/** The same with the state of organization and home, null where there is none. */
export interface LockedRow extends LockedUser {
  readonly organization_status: string | null;
  readonly is_home_active: boolean | null;
}

const isLast = `case when u.role = 'owner' and u.scope = 'organization' and u.is_active then not exists (
    select from users other where other.organization_id = u.organization_id and other.id <> u.id and other.scope = 'organization'
      and other.role = 'owner' and other.is_active and other.deleted_at is null)
  when u.role = 'operator' and u.is_active then not exists (
    select from users other where other.scope = 'platform' and other.id <> u.id and other.is_active and other.deleted_at is null)
  else false end`;

/** Locks the organization of a user. */
export async function lockOrganizationOf(tx: Pick<TenantTransaction, 'em'>, userId: string): Promise<void> {
  await row(tx.em, 'select id from organizations where id = (select organization_id from users where id = ?) for no key update', [userId]);
}

/** Locks all operators if the user is one of them. */
export async function lockOperators(tx: Pick<TenantTransaction, 'em'>, userId: string): Promise<void> {
  await rows(
    tx.em,
    `select id from users where scope = 'platform' and deleted_at is null and exists (
  select from users target where target.id = ? and target.scope = 'platform') order by id for no key update`,
    [userId],
  );
}

/** Returns a user whom the caller sees, locked, with the state of organization and home; null when there is none. */
export function findUserForChange(ctx: Scoped, id: string): Promise<LockedRow | null> {
  const visible = usersSeenBy(ctx.caller);
  return row<LockedRow>(
    ctx.em,
    `select ${storedUserColumns}, ${isLast} as is_last, o.status as organization_status, w.is_active as is_home_active
       from users u left join organizations o on o.id = u.organization_id left join workspaces w on w.id = u.workspace_id
      where u.id = ? and ${visible.sql} for no key update of u`,
    [id, ...visible.params],
  );
}

/** Writes the name of a user if the row still has this version; returns null when it has another. The functions below do the same. */
export function writeFullName(tx: TenantTransaction, locked: StoredUser, fullName: string | null): Promise<StoredUser | null> {
  return update(tx, locked, { sql: 'full_name = ?', params: [fullName] });
}

/** Writes role, scope and home of a user. */
export function writeStanding(
  tx: TenantTransaction,
  locked: StoredUser,
  { role, scope, workspaceId }: Standing,
): Promise<StoredUser | null> {
  return update(tx, locked, { sql: 'role = ?, scope = ?, workspace_id = ?::uuid', params: [role, scope, workspaceId] });
}

/**
 * Ends the grants of a user in a new home, or all of them without a home, moves their sessions there, and revokes their keys where they no longer have a right;
 * returns the ids of these keys.
 */
export async function leaveOtherPlaces(tx: TenantTransaction, userId: string, workspaceId: string | null): Promise<readonly string[]> {
  const left = await row<{ key_ids: string[] }>(
    tx.em,
    `with ended as (delete from workspace_grants where user_id = ? and (?::uuid is null or workspace_id = ?::uuid)),
         moved as (update sessions set workspace_id = ?::uuid where user_id = ? and revoked_at is null),
         keys as (
           update service_keys k set revoked_at = now(), updated_at = now(), version = version + 1
           where k.created_by_user_id = ? and k.revoked_at is null and ?::uuid is not null
             and (k.workspace_id is null or (k.workspace_id <> ?::uuid and not exists (
               select from workspace_grants g where g.user_id = k.created_by_user_id and g.workspace_id = k.workspace_id)))
           returning k.id)
       select coalesce(json_agg(id), '[]') as key_ids from keys`,
    [userId, workspaceId, workspaceId, workspaceId, userId, userId, workspaceId, workspaceId],
  );
  return left?.key_ids ?? [];
}

/** Stores whether a user may sign in. */
export function writeActive(tx: TenantTransaction, locked: StoredUser, isActive: boolean): Promise<StoredUser | null> {
  const sql = isActive ? 'is_active = true, deactivated_at = null' : 'is_active = false, deactivated_at = clock_timestamp()';
  return update(tx, locked, { sql, params: [] });
}

/** Marks a user as deleted, without address, name and language. */
export function writeErased(tx: TenantTransaction, locked: StoredUser): Promise<StoredUser | null> {
  return update(tx, locked, {
    sql: `email = '', full_name = null, locale = null, is_active = false, deactivated_at = coalesce(u.deactivated_at, clock_timestamp()),
       deleted_at = clock_timestamp()`,
    params: [],
  });
}

// Replies before invitations, since the replies are found through the invitations: the CTEs selected from are evaluated first.
const eraseOwnSql = `
  with replies as materialized (select gate_forget_replies(array[?::uuid], '{}')),
       connections as materialized (select gate_erase_connections(?::uuid)),
       knowledge as materialized (select gate_erase_knowledge(?::uuid))
  select gate_leave(?::uuid, true) as key_ids from replies, connections, knowledge`;

/** Ends what a user has made and holds; returns the ids of the keys. */
export async function leaveOwnThings(
  tx: TenantTransaction,
  userId: string,
  { erases }: { readonly erases: boolean },
): Promise<readonly string[]> {
  const ended = await row<{ key_ids: string[] }>(tx.em, erases ? eraseOwnSql : 'select gate_leave(?::uuid, false) as key_ids', [
    userId,
    ...(erases ? [userId, userId, userId] : []),
  ]);
  return ended?.key_ids ?? [];
}

function update(tx: TenantTransaction, locked: StoredUser, set: Predicate): Promise<StoredUser | null> {
  return row<StoredUser>(
    tx.em,
    `update users u set ${set.sql}, version = u.version + 1, updated_at = clock_timestamp()
      where u.id = ? and u.version = ? returning ${storedUserColumns}`,
    [...set.params, locked.id, locked.version],
  );
}
