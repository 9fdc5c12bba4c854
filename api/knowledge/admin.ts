import type { Caller } from '../../db/caller.ts';
import { refuseRank } from '../../db/caller-scope.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';

/** The workspace of a base; null if it belongs to an organization or the platform. */
type BaseWorkspace = { readonly workspaceId: string | null };

/** 403 for a caller who is not an admin in the scope of the base. */
export function refuseBelowAdmin(caller: Caller, { workspaceId }: BaseWorkspace): void {
  if (workspaceId !== null) return refuseRank(caller, workspaceId, 'admin');
  if (rankOf(caller.role) < rankOf('admin')) throw fail('role_insufficient');
}

/** Whether a caller is an admin in the scope of the base. */
export function isAdminOf(caller: Caller, { workspaceId }: BaseWorkspace): boolean {
  const role = workspaceId === null || caller.workspaces === 'all' ? caller.role : (caller.workspaces.get(workspaceId) ?? 'viewer');
  return rankOf(role) >= rankOf('admin');
}
