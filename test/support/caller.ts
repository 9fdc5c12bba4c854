import type { Caller } from '../../db/caller.ts';

/** A member of one workspace unless told otherwise. */
export function callerOf(given: Partial<Caller> & Pick<Caller, 'organizationId' | 'workspaceId'>): Caller {
  const role = given.role ?? 'member';
  const workspaces = given.workspaces ?? (given.workspaceId ? new Map([[given.workspaceId, role]]) : 'all');
  return {
    kind: 'user',
    principalId: '01900000-0000-7000-8000-000000000001',
    userId: '01900000-0000-7000-8000-000000000001',
    actingUserId: null,
    impersonationId: null,
    sessionId: null,
    clientId: null,
    role,
    ownRole: role,
    scope: given.workspaceId ? 'workspace' : 'organization',
    scopes: null,
    view: null,
    restriction: null,
    freshUntil: null,
    ...given,
    workspaces,
  };
}
