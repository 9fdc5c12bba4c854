import { fail } from '../../../workflows/contracts/failure.ts';
import { lowerRole, rankOf, type Role } from '../../../workflows/contracts/access.ts';
import type { Caller } from '../../../db/caller.ts';
import type { FoundImpersonation, FoundKey, FoundSession, Person } from '../../../db/identity/people/people.ts';

type Workspaces = Caller['workspaces'];

/** The caller of a request without a credential: sees nothing, writes rows of kind open only. */
export const nobody: Caller = freezeCaller({
  kind: 'nobody',
  principalId: null,
  userId: null,
  actingUserId: null,
  impersonationId: null,
  sessionId: null,
  clientId: null,
  role: 'viewer',
  ownRole: 'viewer',
  scope: 'workspace',
  organizationId: null,
  workspaceId: null,
  workspaces: new Map(),
  scopes: [],
  view: null,
  restriction: null,
  freshUntil: null,
});

/** The caller of a user's live session; `session` is null while a login or refresh is being decided. */
export function callerOfPerson(person: Person, session: FoundSession | null): Caller {
  return freezeCaller({
    kind: 'user',
    principalId: person.id,
    userId: person.id,
    actingUserId: null,
    impersonationId: null,
    sessionId: session?.id ?? null,
    clientId: null,
    role: person.role,
    ownRole: person.role,
    scope: person.scope,
    organizationId: person.organizationId,
    workspaceId: person.workspaceId,
    workspaces: workspacesOf(person),
    scopes: null,
    view: null,
    restriction: session?.restriction ?? null,
    freshUntil: session?.freshUntil ? new Date(session.freshUntil) : null,
  });
}

/**
 * The caller of a service key: has the lower of the key's rank and the rank that its creator has today where the key lives. Null when the key is dead: revoked,
 * expired, or its creator is inactive or has lost every right there.
 */
export function callerOfKey(key: FoundKey, creator: Person | null): Caller | null {
  if (key.isDead || !creator?.isActive) return null;
  const creatorRole = roleWhere(creator, key.organizationId, key.workspaceId);

  if (creatorRole === null) return null;
  const role = lowerRole(key.role, creatorRole);

  return freezeCaller({
    kind: 'service_key',
    principalId: key.id,
    userId: null,
    actingUserId: null,
    impersonationId: null,
    sessionId: null,
    clientId: null,
    role,
    ownRole: role,
    scope: key.scope,
    organizationId: key.organizationId,
    workspaceId: key.workspaceId,
    workspaces: key.workspaceId === null ? 'all' : new Map([[key.workspaceId, role]]),
    scopes: key.scopes,
    view: null,
    restriction: null,
    freshUntil: null,
  });
}

/**
 * The caller of an impersonation: the operator, with role, scope and visible rows of the target. Throws 401 once it was ended or has expired, and when the
 * operator or the target may no longer work.
 */
export function callerOfImpersonation({ id, isEnded, isOver, operator, person }: FoundImpersonation): Caller {
  const isOperator = operator?.isActive === true && operator.role === 'operator';

  if (isEnded || !isOperator || !person?.isActive || person.role === 'operator') throw fail('session_revoked');
  if (isOver) throw fail('token_expired');
  // Has no session: nothing counts as verified, and the target's missing factor does not restrict the operator.
  return freezeCaller({ ...callerOfPerson(person, null), principalId: operator.id, impersonationId: id, ownRole: operator.role });
}

/** An operator narrowed to one organization or workspace: a caller of it, with the rank operator. */
export function narrowTo(caller: Caller, view: { organizationId: string; workspaceId: string | null }): Caller {
  return freezeCaller({
    ...caller,
    scope: view.workspaceId === null ? 'organization' : 'workspace',
    organizationId: view.organizationId,
    workspaceId: view.workspaceId,
    workspaces: view.workspaceId === null ? 'all' : new Map([[view.workspaceId, caller.role]]),
    view,
  });
}

/** Throws 401 `mfa_required` for a session without the second factor that its organization demands. */
export function refuseRestriction({ restriction, clientId }: Pick<Caller, 'restriction' | 'clientId'>): void {
  switch (restriction) {
    case null:
      return;
    case 'enrolment_required':
      throw fail('mfa_required', { reason: restriction, detail: 'The organization requires a second factor. Enrol one first.' });
    case 'step_up_required':
      throw fail('mfa_required', {
        reason: restriction,
        detail: `The organization requires a second factor. ${clientId === null ? 'Verify yours' : 'Connect the application again'} first.`,
      });
    default:
      restriction satisfies never;
  }
}

/** Throws 403 for a caller below admin, who may not act as another user. */
export function refuseDelegation(caller: Caller): void {
  if (rankOf(caller.role) < rankOf('admin')) throw fail('role_insufficient', { detail: 'X-Acting-User requires the role admin.' });
}

/**
 * The caller acting as a user: the lower of both roles, everywhere, and only the rows that both see. Throws 403 below admin, 404 for a user who is not visible
 * or inactive (a foreign user is not confirmed), 403 for a user who outranks the caller.
 */
export function actAs(caller: Caller, person: Person | null): Caller {
  refuseDelegation(caller);
  if (!person?.isActive) throw unknownActingUser();
  // An operator without a view sees every organization, so the user's own decides.
  const organizationId = caller.organizationId ?? person.organizationId;
  const workspaces = intersect(caller.workspaces, workspacesOf(person), person.role);

  if (person.scope !== 'platform' && person.organizationId !== organizationId) throw unknownActingUser();
  if (person.scope === 'platform' && (caller.scope !== 'platform' || caller.role !== 'operator')) throw unknownActingUser();
  if (workspaces !== 'all' && workspaces.size === 0) throw unknownActingUser();
  if (rankOf(person.role) > rankOf(caller.role)) {
    throw fail('role_insufficient', { reason: 'rank', detail: 'The acting user has a higher role than the caller.' });
  }
  return freezeCaller({
    ...caller,
    userId: person.id,
    actingUserId: person.id,
    role: lowerRole(caller.role, person.role),
    scope: narrowerScope(caller, person),
    organizationId,
    workspaceId: sharedWorkspace(caller, person, workspaces),
    workspaces,
  });
}

/** What a user may do in an organization or workspace today; null when the user does not see it. */
function roleWhere(person: Person, organizationId: string, workspaceId: string | null): Role | null {
  if (person.scope === 'platform') return person.role;
  if (person.organizationId !== organizationId) return null;
  const workspaces = workspacesOf(person);

  if (workspaces === 'all') return person.role;
  return workspaceId === null ? null : (workspaces.get(workspaceId) ?? null);
}

function workspacesOf(person: Person): Workspaces {
  if (person.scope !== 'workspace' || person.workspaceId === null) return 'all';
  const granted = Object.entries(person.grants).map(([workspaceId, role]) => [workspaceId, lowerRole(role, person.role)] as const);

  return new Map([...granted, [person.workspaceId, person.role]]);
}

// `highest`: the role of the right side in every workspace, when it sees all of them.
function intersect(left: Workspaces, right: Workspaces, highest: Role): Workspaces {
  if (left === 'all') return right;
  const shared = new Map<string, Role>();

  for (const [workspaceId, role] of left) {
    const other = right === 'all' ? highest : right.get(workspaceId);

    if (other !== undefined) shared.set(workspaceId, lowerRole(role, other));
  }
  return shared;
}

function narrowerScope(caller: Caller, person: Person): Caller['scope'] {
  const width = { workspace: 0, organization: 1, platform: 2 } as const;

  return width[caller.scope] <= width[person.scope] ? caller.scope : person.scope;
}

// New rows go to a workspace of both: the acting user's home if the caller sees it, else the caller's own workspace.
function sharedWorkspace(caller: Caller, person: Person, workspaces: Workspaces): string | null {
  const isShared = (workspaceId: string | null): boolean => workspaceId !== null && (workspaces === 'all' || workspaces.has(workspaceId));

  if (isShared(person.workspaceId)) return person.workspaceId;
  if (isShared(caller.workspaceId)) return caller.workspaceId;
  return workspaces === 'all' ? null : ([...workspaces.keys()][0] ?? null);
}

function unknownActingUser() {
  return fail('not_found', { detail: 'The acting user does not exist.' });
}

// No code branches on a missing tenant, so a caller without one must never exist. A violation is a bug: it throws a plain error.
function freezeCaller(caller: Caller): Caller {
  const ids = [
    caller.principalId,
    caller.userId,
    caller.actingUserId,
    caller.impersonationId,
    caller.sessionId,
    caller.clientId,
    caller.organizationId,
    caller.workspaceId,
  ];

  if (ids.includes('')) throw new Error('a caller has an empty id');
  if (caller.kind !== 'nobody') {
    if (caller.principalId === null) throw new Error('a caller lacks its principal');
    if (caller.organizationId === null && (caller.role !== 'operator' || caller.scope !== 'platform'))
      throw new Error('a caller lacks an organization');
    if (caller.scope === 'workspace' && (caller.workspaceId === null || caller.workspaces === 'all'))
      throw new Error('a workspace caller lacks a workspace');
  }
  return Object.freeze(caller);
}
