import { assertScopeActive } from '../../db/frozen.ts';
import type { Role } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../../db/caller.ts';
import { isUnbounded, refuseRank, workspacesOf } from '../../db/caller-scope.ts';
import { checkIfMatch, type Changing } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { refuseOutranked, refuseUnattended } from './rank-rules.ts';
import { endSignInsOf, eraseCredentialsOf } from '../../db/identity/sessions/endings.ts';
import type { StoredUser, UserRow } from '../../db/identity/people/users.ts';
import {
  lockOrganizationOf,
  lockOperators,
  findUserForChange,
  writeFullName,
  writeStanding,
  leaveOtherPlaces,
  writeActive,
  writeErased,
  leaveOwnThings,
  type LockedUser,
  type Standing,
} from '../../db/tenancy/people/user-changes.ts';

interface LockOptions {
  /** Rank that a change of another user needs at that user's home. */
  readonly floor: Role;
  /** Users may do it to themselves, whatever their rank. */
  readonly allowsOneself?: boolean;
  /** Whether an owner or operator may be lost by the change: then the organization is locked first, as for a transfer of ownership, or all operators. */
  readonly mayLoseOwner?: boolean;
  /** True for changes that a frozen organization or workspace still allows. */
  readonly openWhenSuspended?: boolean;
  /** The change affects neither rank, state nor sign-in: a key may make it for any user within its rank. */
  readonly isHarmless?: boolean;
}

/**
 * Loads and locks a user who is about to change. Throws, in this order: 404 when the caller doesn't see the user, 403 when the caller may not change the user
 * (R2 and R4 among the reasons), 412 by If-Match, 423 when the user's organization or home is frozen.
 */
export async function lockUser(ctx: Changing, id: string, options: LockOptions): Promise<LockedUser> {
  const { caller } = ctx;
  if (options.mayLoseOwner) {
    // Separate statements: the next one's snapshot is later than the wait, so that of two users who leave at once the second is refused.
    await lockOrganizationOf(ctx, id);
    if (isUnbounded(caller)) await lockOperators(ctx, id);
  }
  const found = await findUserForChange(ctx, id);
  if (!found) throw fail('not_found');

  const isOneself = caller.userId === found.id;
  if (!(isOneself && options.allowsOneself)) refuseUnchangeable(caller, found, options.floor);
  if (!options.isHarmless) refuseUnattended(caller, found.role);
  checkIfMatch(ctx, found.version);
  if (!options.openWhenSuspended) assertScopeActive(found.organizationStatus, found.isHomeActive);
  return found;
}

/** Throws 409 `own_account`, so that callers can't lock themselves out. */
function refuseOwnAccount(caller: Caller, user: UserRow): void {
  if (caller.userId === user.id) throw fail('state_conflict', { reason: 'own_account', detail: 'You cannot do this to your own account.' });
}

/**
 * R3: an organization keeps at least one active organization-scoped owner, the deployment one active operator. For users locked with `mayLoseOwner`. Throws 409
 * `last_owner`, `last_operator`.
 */
export function refuseLast(user: LockedUser): void {
  if (user.isLast && user.role === 'operator')
    throw fail('state_conflict', { reason: 'last_operator', detail: 'A deployment must keep at least one active operator.' });
  if (user.isLast) throw fail('state_conflict', { reason: 'last_owner', detail: 'An organization must keep at least one active owner.' });
}

/** Changes the name of a locked user. Throws 412 when another request was faster. */
export async function setFullName(tx: TenantTransaction, locked: StoredUser, fullName: string | null): Promise<StoredUser> {
  return asLocked(await writeFullName(tx, locked, fullName));
}

/**
 * Changes the standing of a locked user. Ends grants that the new home, or the whole organization, replaces, and permanently the keys that the user has created
 * where the user no longer has access. Only a caller who sees the whole organization changes a home.
 */
export async function setStanding(tx: TenantTransaction, locked: StoredUser, standing: Standing): Promise<StoredUser> {
  const { workspaceId } = standing;
  const changed = asLocked(await writeStanding(tx, locked, standing));
  if (workspaceId !== locked.workspaceId) {
    const keyIds = await leaveOtherPlaces(tx, locked.id, workspaceId);
    tx.outgoing.revoked.push(...keyIds.map((id) => `service_key:${id}`));
  }
  // The next request reads the row; open streams check their caller again now.
  tx.outgoing.revoked.push(`user:${locked.id}`);
  return changed;
}

/** Deactivates a user locked with `mayLoseOwner`: ends sessions, keys and streams permanently. Throws 409 `own_account`, `last_owner`, `last_operator`. */
export async function deactivateUser(ctx: Changing, user: LockedUser): Promise<StoredUser> {
  refuseOwnAccount(ctx.caller, user);
  refuseLast(user);
  const changed = user.isActive ? asLocked(await writeActive(ctx, user, false)) : user;
  await endOwnThings(ctx, user.id, { erases: false });
  await endSignInsOf(ctx, { userId: user.id, reason: 'deactivation' });
  return changed;
}

/** Reactivates a locked user. */
export async function setActive(tx: TenantTransaction, locked: StoredUser): Promise<StoredUser> {
  return asLocked(await writeActive(tx, locked, true));
}

/**
 * Erases a user locked with `mayLoseOwner`: ends what the user has created and holds, and erases credentials, address and name. The id stays for audit rows and
 * for what the user has created; the address is free again. Throws 409 as for a deactivation.
 */
export async function eraseUser(ctx: Changing, user: LockedUser): Promise<void> {
  refuseOwnAccount(ctx.caller, user);
  refuseLast(user);
  await endOwnThings(ctx, user.id, { erases: true });
  await eraseCredentialsOf(ctx, { userId: user.id });
  asLocked(await writeErased(ctx, user));
}

function asLocked(changed: StoredUser | null): StoredUser {
  if (!changed) throw fail('precondition_failed');
  return changed;
}

/**
 * Ends what a user has created and holds in any workspace, even where the caller doesn't see it: service keys; before an erasure also the user's grants and the
 * invitations with the address, what the person has granted to toolkits, grants to knowledge, and stored replies that show the person. Bases about the person
 * are hidden; `sweepSubjects` purges them.
 */
async function endOwnThings(tx: TenantTransaction, userId: string, { erases }: { readonly erases: boolean }): Promise<void> {
  for (const keyId of await leaveOwnThings(tx, userId, { erases })) tx.outgoing.revoked.push(`service_key:${keyId}`);
}

function refuseUnchangeable(caller: Caller, user: UserRow, floor: Role): void {
  if (!isUnbounded(caller)) {
    const isWider = user.scope === 'platform' || (user.scope === 'organization' && workspacesOf(caller) !== null);
    if (isWider) throw fail('resource_forbidden', { detail: 'Only a caller with the same or a wider scope can change this user.' });
    refuseRank(caller, user.workspaceId ?? '', floor);
  }
  refuseOutranked(caller, { role: user.role, workspaceId: user.workspaceId });
}
