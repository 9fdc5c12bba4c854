import { rankOf, type Role } from '../../../workflows/contracts/access.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller } from '../../../db/caller.ts';
import { refuseRestriction } from '../../../domain/identity/callers/caller.ts';
import { refuseNarrowed } from '../../../db/caller-scope.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { isMcpEndpoint, isRoleAccess, isSessionOnly, resourceScopes, oauthScopeOf, type Demand } from './scopes.ts';

/** What a session may do while it lacks the second factor that its organization demands. */
const allowedWhileRestricted: Readonly<Record<NonNullable<Caller['restriction']>, ReadonlySet<string>>> = {
  enrolment_required: new Set(['getMe', 'logout', 'verifyMfa', 'enrolTotp', 'confirmTotp']),
  step_up_required: new Set(['getMe', 'logout', 'verifyMfa']),
};

/** 401 `mfa_required` for a restricted session, on all but the operations that lead out of the restriction. */
export function refuseRestricted(operation: RegisteredOperation, caller: Caller): void {
  if (caller.restriction !== null && allowedWhileRestricted[caller.restriction].has(operation.operationId)) return;
  refuseRestriction(caller);
}

/** The 403 checks: role floor, then credential kind and scopes, then delegation. `publicUrl` goes into the challenge for a missing scope. */
export function checkFloor(operation: Demand, caller: Caller, publicUrl: string): void {
  const floor = isRoleAccess(operation) ? operation.access : null;

  if (floor === null && !operation.takesSession) return;
  if (floor !== null && rankOf(caller.role) < rankOf(floor)) {
    throw fail('role_insufficient', { detail: `This operation requires the role ${floor}.`, context: { required_role: floor } });
  }
  checkScopes(operation, caller, publicUrl);
  if (caller.actingUserId !== null && isNeverDelegated(operation)) {
    throw fail('resource_forbidden', { reason: 'delegation_not_allowed', detail: 'This operation cannot be performed as another user.' });
  }
  if (caller.impersonationId !== null && isNeverImpersonated(operation)) {
    throw fail('resource_forbidden', { reason: 'impersonated', detail: 'This operation cannot be performed in an impersonation.' });
  }
  if (operation.ofPlatform) refuseNarrowed(caller);
  if (operation.stepUp) demandStepUp(caller, challengeOf(publicUrl, operation, null));
}

/** 401 `mfa_required` unless a factor (or, without one, the password) was verified within the last 10 minutes. Answered by verifyMfa with the bearer. */
export function demandStepUp({ freshUntil }: Pick<Caller, 'freshUntil'>, challenge: string): void {
  if (freshUntil !== null) return;
  throw fail('mfa_required', {
    reason: 'step_up_required',
    detail: 'Verify your second factor (or your password, if you have none) and send the request again.',
    headers: { 'www-authenticate': challenge },
  });
}

/** WWW-Authenticate (RFC 6750 §3, RFC 9728 §5.1) of a 401, and of a 403 `scope_insufficient`; lists all scopes that are needed, for the MCP endpoint those of all its tools. */
export function challengeOf(publicUrl: string, operation: Demand | null, error: 'invalid_token' | 'insufficient_scope' | null): string {
  const isMcp = isMcpEndpoint(operation);
  const needed = operation && isRoleAccess(operation) ? oauthScopeOf(operation) : null;
  return challengeText(publicUrl, {
    resource: isMcp ? 'mcp' : 'api',
    scopes: isMcp ? resourceScopes.mcp : (needed?.split(' ') ?? []),
    error,
  });
}

/** A challenge for one of the two resources that names these scopes. */
export function challengeText(
  publicUrl: string,
  challenge: {
    readonly resource: 'api' | 'mcp';
    readonly scopes: readonly string[];
    readonly error: 'invalid_token' | 'insufficient_scope' | null;
  },
): string {
  const { resource, scopes, error } = challenge;
  const parts = [`resource_metadata="${publicUrl}/.well-known/oauth-protected-resource${resource === 'mcp' ? '/mcp' : ''}"`];

  if (scopes.length > 0) parts.push(`scope="${scopes.join(' ')}"`);
  if (error !== null) parts.push(`error="${error}"`);
  return `Bearer ${parts.join(', ')}`;
}

const ownPersonAreas: ReadonlySet<string> = new Set(['Authentication', 'Sessions', 'Oauth']);

/** Operations that X-Acting-User cannot call: everything about signing in except `/auth/me`, and flagged operations. */
function isNeverDelegated(operation: Demand): boolean {
  return operation.notDelegable === true || (ownPersonAreas.has(operation.area) && operation.operationId !== 'getMe');
}

/** Operations that an operator cannot call while impersonating: changes to how the user signs in, and flagged operations. */
function isNeverImpersonated(operation: Demand): boolean {
  return operation.notDelegable === true || (ownPersonAreas.has(operation.area) && operation.method !== 'GET');
}

function checkScopes(operation: Demand, caller: Caller, publicUrl: string): void {
  // A user's session is unrestricted; keys and tokens carry scopes.
  if (caller.scopes === null) return;
  const headers = { 'www-authenticate': challengeOf(publicUrl, operation, 'insufficient_scope') };

  if (isSessionOnly(operation)) {
    throw fail('scope_insufficient', { reason: 'user_session_required', detail: 'This operation requires a user session.', headers });
  }
  const needed = missingScope(operation, caller);

  if (needed === null) return;
  throw fail('scope_insufficient', {
    detail: `The credential lacks the scope ${needed}.`,
    context: { required_scopes: [needed] },
    headers,
  });
}

/** The scope of an operation that a caller's credential lacks; null when it lacks none. */
export function missingScope(operation: Demand, { scopes }: Pick<Caller, 'scopes'>): string | null {
  const needed = oauthScopeOf(operation);
  return scopes === null || needed === null || holdsScope(scopes, needed) ? null : needed;
}

function holdsScope(held: readonly string[], needed: string): boolean {
  return held.includes(needed) || held.includes('*') || (needed.endsWith(':read') && held.includes('*:read'));
}

/** The least role that an operation asks for; null where it asks for none. */
export function floorOf(operation: Demand): Role | null {
  return isRoleAccess(operation) ? operation.access : null;
}
