import { type Role, rankOf, type Scope } from '../workflows/contracts/access.ts';
import { fail } from '../workflows/contracts/failure.ts';
import type { Caller } from './caller.ts';

/** An operator without X-View-* reaches every row. */
export function isUnbounded(caller: Caller): boolean {
  return caller.scope === 'platform' && caller.view === null;
}

/** Throws 403 for an operator who is narrowed by X-View-*: what belongs to the deployment as a whole lies outside the view. */
export function refuseNarrowed(caller: Caller): void {
  if (caller.view === null) return;
  throw fail('resource_forbidden', { reason: 'narrowed', detail: 'leave X-View-Organization and X-View-Workspace out' });
}

/** The organization whose rows the caller reaches. */
export function organizationOf(caller: Caller): string | null {
  return caller.view?.organizationId ?? caller.organizationId;
}

/** The workspaces that the caller reaches in its organization; null means all of them. */
export function workspacesOf(caller: Caller): string[] | null {
  if (caller.view?.workspaceId) return [caller.view.workspaceId];
  return caller.workspaces === 'all' ? null : [...caller.workspaces.keys()];
}

/** The workspaces, for lists, in which the caller has at least this role; null means all of them. */
export function workspacesAtFloor(caller: Caller, floor: Role | null): string[] | null {
  if (caller.workspaces === 'all') return workspacesOf(caller);
  const reached = [...caller.workspaces].filter(([, role]) => floor === null || rankOf(role) >= rankOf(floor));
  return reached.map(([workspaceId]) => workspaceId);
}

/** The caller's own scope; X-View-* makes an operator a caller of that organization or workspace. */
export function ownScopeOf(caller: Caller): Scope {
  if (caller.view === null) return caller.scope;
  return caller.view.workspaceId ? 'workspace' : 'organization';
}

/** Throws 403 when the caller's role in that workspace is below the operation's floor. */
export function refuseRank(caller: Caller, workspaceId: string, floor: Role | null): void {
  const role = caller.workspaces === 'all' ? caller.role : (caller.workspaces.get(workspaceId) ?? 'viewer');
  if (floor !== null && rankOf(role) < rankOf(floor)) throw fail('role_insufficient');
}
