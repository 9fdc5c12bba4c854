import type { Caller } from '../../db/caller.ts';
import { refuseRank } from '../../db/reach.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';

/** Where a base lies; its workspace is null where it belongs to an organization or the platform. */
type BaseWorkspace = { readonly workspaceId: string | null };

/** 403 for a caller who is no admin where the base lies. */
export function refuseBelowAdmin(caller: Caller, { workspaceId }: BaseWorkspace): void {
  if (workspaceId !== null) return refuseRank(caller, workspaceId, 'admin');
  if (rankOf(caller.role) < rankOf('admin')) throw fail('role_insufficient');
}

/** Whether a caller is an admin where the base lies. */
export function isAdminOf(caller: Caller, { workspaceId }: BaseWorkspace): boolean {
  const role = workspaceId === null || caller.workspaces === 'all' ? caller.role : (caller.workspaces.get(workspaceId) ?? 'viewer');
  return rankOf(role) >= rankOf('admin');
}
