import { rankOf, type Role } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../../db/caller.ts';
import { isPerson } from '../../db/identity/people/creator.ts';

/** The target of an action: the user's rank and home (null: the whole organization, or the platform). */
interface Ranked {
  readonly role: Role;
  readonly workspaceId: string | null;
}

/** The caller's rank where a row lives: in a granted workspace the lower of grant and home role, viewer where there is no grant. */
export function rankAt(caller: Caller, workspaceId: string | null): Role {
  if (caller.workspaces === 'all' || workspaceId === null) return caller.role;
  return caller.workspaces.get(workspaceId) ?? 'viewer';
}

/** R1: a caller may not give a rank above the caller's own, judged in the workspace where it is to apply (null: the organization). Throws 403 `rank`. */
export function refuseHigherRank(caller: Caller, role: Role, workspaceId: string | null = null): void {
  if (rankOf(role) > rankOf(rankAt(caller, workspaceId))) {
    throw fail('role_insufficient', { reason: 'rank', detail: 'You cannot give a role above your own.' });
  }
}

/**
 * R2: a caller may not change a user who outranks the caller (role, state, grant, sessions, deletion). It follows that only an owner or an operator changes an
 * owner. Throws 403 `rank`.
 */
export function refuseOutranked(caller: Caller, target: Ranked): void {
  if (rankOf(target.role) > rankOf(rankAt(caller, target.workspaceId))) {
    throw fail('role_insufficient', { reason: 'rank', detail: 'This user has a higher role than you.' });
  }
}

/** The highest rank that a credential other than a person's session may create, invite or change. */
const highestUnattended: Role = 'member';

/**
 * R4: a service key, an OAuth grant or a client provisions viewers and members. Only a person in a session of their own may act on users who have, or are to
 * get, a higher rank: otherwise the holder of a key could make an owner, and the existing owner would be put out. Throws 403 `user_session_required`.
 */
export function refuseUnattended(caller: Caller, ...ranks: readonly Role[]): void {
  if (maySetUnattended(caller, ...ranks)) return;
  throw sessionRequired(`a role above ${highestUnattended} requires a user session, not a key or a connected app`);
}

/** Whether R4 lets the caller act on these ranks. */
export function maySetUnattended(caller: Caller, ...ranks: readonly Role[]): boolean {
  return isPerson(caller) || ranks.every((role) => rankOf(role) <= rankOf(highestUnattended));
}

/** 403 for what a key, an OAuth grant or a client may never do. */
export function sessionRequired(detail: string) {
  return fail('scope_insufficient', { reason: 'user_session_required', detail });
}
