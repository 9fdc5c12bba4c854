import { rankOf, type Role } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../../db/caller.ts';
import { isPerson } from '../../db/identity/people/creator.ts';

/** A user on whom somebody acts: rank, and where they are at home (null: the whole organization, or the platform). */
interface Ranked {
  readonly role: Role;
  readonly workspaceId: string | null;
}

/** The caller's rank where a row lives: in a granted workspace the lower of grant and home role, viewer where there is no grant. */
export function rankAt(caller: Caller, workspaceId: string | null): Role {
  if (caller.workspaces === 'all' || workspaceId === null) return caller.role;
  return caller.workspaces.get(workspaceId) ?? 'viewer';
}

/** R1: nobody gives a rank above their own, judged in the workspace where it is to hold (null: the organization). 403 `rank`. */
export function refuseHigherRank(caller: Caller, role: Role, workspaceId: string | null = null): void {
  if (rankOf(role) > rankOf(rankAt(caller, workspaceId))) {
    throw fail('role_insufficient', { reason: 'rank', detail: 'You cannot give a role above your own.' });
  }
}

/**
 * R2: nobody changes a user who outranks them (role, state, grant, sessions, deletion). That only an owner or an operator changes an owner
 * follows. 403 `rank`.
 */
export function refuseOutranked(caller: Caller, target: Ranked): void {
  if (rankOf(target.role) > rankOf(rankAt(caller, target.workspaceId))) {
    throw fail('role_insufficient', { reason: 'rank', detail: 'This user has a higher role than you.' });
  }
}

/** The highest rank that a credential which is no person's session makes, invites or changes. */
const highestUnattended: Role = 'member';

/**
 * R4: a service key, an OAuth grant or a client provisions viewers and members. Whoever stands above, or is to, is touched by a person in a session
 * of their own: else whoever holds a key makes an owner, and the owner is put out. 403 `user_session_required`.
 */
export function refuseUnattended(caller: Caller, ...ranks: readonly Role[]): void {
  if (maySetUnattended(caller, ...ranks)) return;
  throw sessionRequired(`a role above ${highestUnattended} requires a user session, not a key or a connected app`);
}

/** Whether R4 lets the caller act on these ranks. */
export function maySetUnattended(caller: Caller, ...ranks: readonly Role[]): boolean {
  return isPerson(caller) || ranks.every((role) => rankOf(role) <= rankOf(highestUnattended));
}

/** 403 for what a key, an OAuth grant or a client never does. */
export function sessionRequired(detail: string) {
  return fail('scope_insufficient', { reason: 'user_session_required', detail });
}
