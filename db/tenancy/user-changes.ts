import { assertPlaceActive } from '../frozen.ts';
import type { Role, Scope } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../caller.ts';
import { isUnbounded, refuseRank, workspacesOf } from '../reach.ts';
import { checkIfMatch, type Changing, type Predicate } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { refuseOutranked, refuseUnattended } from './rank-rules.ts';
import { storedUserColumns, usersSeenBy, type StoredUser, type UserRow } from './users.ts';

/** Where a user stands: rank, scope and home go together. */
export interface Standing {
  readonly role: Role;
  readonly scope: Scope;
  readonly workspaceId: string | null;
}

interface LockOptions {
  /** Rank that a change of somebody else needs at their home. */
  readonly floor: Role;
  /** Oneself may do it, whatever the rank. */
  readonly allowsOneself?: boolean;
  /** Whether an owner or operator may be lost by it: the organization is locked first, as the hand-over of ownership does, or all operators. */
  readonly mayLoseOwner?: boolean;
  /** True for what a frozen organization or workspace still admits. */
  readonly openWhenFrozen?: boolean;
  /** Neither rank, state nor sign-in hangs on it: a key may do it to whomever its rank reaches. */
  readonly isHarmless?: boolean;
}

/** A user under their row's lock. */
export interface LockedUser extends StoredUser {
  /** The only active owner of a whole organization, or the only active operator; certain only for users locked with `mayLoseOwner`. */
  readonly is_last: boolean;
}

const lockOperators = `select id from users where scope = 'platform' and deleted_at is null and exists (
  select from users target where target.id = ? and target.scope = 'platform') order by id for no key update`;

interface LockedRow extends LockedUser {
  readonly organization_status: string | null;
  readonly is_home_active: boolean | null;
}

const isLast = `case when u.role = 'owner' and u.scope = 'organization' and u.is_active then not exists (
    select from users other where other.organization_id = u.organization_id and other.id <> u.id and other.scope = 'organization'
      and other.role = 'owner' and other.is_active and other.deleted_at is null)
  when u.role = 'operator' and u.is_active then not exists (
    select from users other where other.scope = 'platform' and other.id <> u.id and other.is_active and other.deleted_at is null)
  else false end`;

/**
 * Loads and locks a user who is about to change. In this order: 404 when the caller doesn't see the user, 403 when it may not change them
 * (R2 and R4 among the reasons), 412 by If-Match, 423 when their organization or home is frozen.
 */
export async function lockUser(ctx: Changing, id: string, options: LockOptions): Promise<LockedUser> {
  const { caller } = ctx;
  if (options.mayLoseOwner) {
    // Statements of their own: the next one's snapshot is later than the wait, so that of two who leave at once the second is refused.
    await row(ctx.em, 'select id from organizations where id = (select organization_id from users where id = ?) for no key update', [id]);
    if (isUnbounded(caller)) await rows(ctx.em, lockOperators, [id]);
  }
  const visible = usersSeenBy(caller);
  const found = await row<LockedRow>(
    ctx.em,
    `select ${storedUserColumns}, ${isLast} as is_last, o.status as organization_status, w.is_active as is_home_active
       from users u left join organizations o on o.id = u.organization_id left join workspaces w on w.id = u.workspace_id
      where u.id = ? and ${visible.sql} for no key update of u`,
    [id, ...visible.params],
  );
  if (!found) throw fail('not_found');

  const isOneself = caller.userId === found.id;
  if (!(isOneself && options.allowsOneself)) refuseUnchangeable(caller, found, options.floor);
  if (!options.isHarmless) refuseUnattended(caller, found.role);
  checkIfMatch(ctx, found.version);
  if (!options.openWhenFrozen) assertPlaceActive(found.organization_status, found.is_home_active);
  return found;
}

/** 409 `own_account`: nobody locks themselves out. */
export function refuseOwnAccount(caller: Caller, user: UserRow): void {
  if (caller.userId === user.id) throw fail('state_conflict', { reason: 'own_account', detail: "this can't be done to one's own account" });
}

/**
 * R3: an organization keeps at least one active organization-scoped owner, the deployment one active operator. For users locked with `mayLoseOwner`.
 * 409 `last_owner`, `last_operator`.
 */
export function refuseLast(user: LockedUser): void {
  if (user.is_last && user.role === 'operator')
    throw fail('state_conflict', { reason: 'last_operator', detail: 'a deployment keeps at least one active operator' });
  if (user.is_last) throw fail('state_conflict', { reason: 'last_owner', detail: 'an organization keeps at least one active owner' });
}

export function setFullName(tx: TenantTransaction, locked: StoredUser, fullName: string | null): Promise<StoredUser> {
  return update(tx, locked, { sql: 'full_name = ?', params: [fullName] });
}

/**
 * Gives a locked user another standing. Grants end where the new home, or the whole organization, takes their place; keys that they have made where they
 * reach no longer end for good. Another home is given by a caller who sees the whole organization.
 */
export async function setStanding(tx: TenantTransaction, locked: StoredUser, { role, scope, workspaceId }: Standing): Promise<StoredUser> {
  const changed = await update(tx, locked, { sql: 'role = ?, scope = ?, workspace_id = ?::uuid', params: [role, scope, workspaceId] });
  if (workspaceId !== locked.workspace_id) {
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
      [locked.id, workspaceId, workspaceId, workspaceId, locked.id, locked.id, workspaceId, workspaceId],
    );
    tx.outgoing.revoked.push(...(left?.key_ids ?? []).map((id) => `service_key:${id}`));
  }
  // The next request reads the row; open streams are looked at again now.
  tx.outgoing.revoked.push(`user:${locked.id}`);
  return changed;
}

export function setInactive(tx: TenantTransaction, locked: StoredUser): Promise<StoredUser> {
  return update(tx, locked, { sql: 'is_active = false, deactivated_at = clock_timestamp()', params: [] });
}

export function setActive(tx: TenantTransaction, locked: StoredUser): Promise<StoredUser> {
  return update(tx, locked, { sql: 'is_active = true, deactivated_at = null', params: [] });
}

/** Takes address and name from a locked user. The id stays for audit rows and for what the user has made; the address is free again. */
export async function eraseUser(tx: TenantTransaction, locked: StoredUser): Promise<void> {
  await update(tx, locked, {
    sql: `email = '', full_name = null, locale = null, is_active = false, deactivated_at = coalesce(u.deactivated_at, clock_timestamp()),
       deleted_at = clock_timestamp()`,
    params: [],
  });
}

// The replies before the invitations, by which theirs are found: what is selected from is there first.
const eraseOwnSql = `
  with replies as materialized (select gate_forget_replies(array[?::uuid], '{}')),
       connections as materialized (select gate_erase_connections(?::uuid)),
       knowledge as materialized (select gate_erase_knowledge(?::uuid))
  select gate_leave(?::uuid, true) as key_ids from replies, connections, knowledge`;

/**
 * Ends what a user has made and holds in any workspace, also where the caller doesn't see it: service keys; before an erasure the grants and
 * the invitations that hold the address, what the person has granted to toolkits, grants to knowledge, and stored replies that show the person, as well. Bases
 * about the person are hidden; `sweepSubjects` purges them.
 */
export async function endOwnThings(tx: TenantTransaction, userId: string, { erases }: { readonly erases: boolean }): Promise<void> {
  const ended = await row<{ key_ids: string[] }>(tx.em, erases ? eraseOwnSql : 'select gate_leave(?::uuid, false) as key_ids', [
    userId,
    ...(erases ? [userId, userId, userId] : []),
  ]);
  for (const keyId of ended?.key_ids ?? []) tx.outgoing.revoked.push(`service_key:${keyId}`);
}

function refuseUnchangeable(caller: Caller, user: UserRow, floor: Role): void {
  if (!isUnbounded(caller)) {
    const isWider = user.scope === 'platform' || (user.scope === 'organization' && workspacesOf(caller) !== null);
    if (isWider) throw fail('resource_forbidden', { detail: 'only a caller of that scope changes this user' });
    refuseRank(caller, user.workspace_id ?? '', floor);
  }
  refuseOutranked(caller, { role: user.role, workspaceId: user.workspace_id });
}

async function update(tx: TenantTransaction, locked: StoredUser, set: Predicate): Promise<StoredUser> {
  const changed = await row<StoredUser>(
    tx.em,
    `update users u set ${set.sql}, version = u.version + 1, updated_at = clock_timestamp()
      where u.id = ? and u.version = ? returning ${storedUserColumns}`,
    [...set.params, locked.id, locked.version],
  );
  if (!changed) throw fail('precondition_failed');
  return changed;
}
