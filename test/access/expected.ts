import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { successOf } from '../../api/http/reply/render.ts';
import { isRoleAccess } from '../../api/http/credentials/scopes.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { targetsOf } from './aim.ts';
import type { ActorSpec } from './world/actors.ts';

/** What the design says about a request that is right in everything but, perhaps, who sends it. */
export interface Expected {
  readonly status: number;
  /** The code of a refusal; null where several would do. */
  readonly code: string | null;
}

const refusal = (status: number, code: string): Expected => ({ status, code });

/**
 * The answer by the operation's declaration and the rules of access: credential, then floor, then what may be seen, then what may be
 * changed. `exceptions` holds what a clause of the design says about one operation.
 */
export function expectedOf(operation: RegisteredOperation, actor: ActorSpec): Expected {
  const success: Expected = { status: successOf(operation), code: null };
  const exception = exceptions[operation.operationId];
  // These have a credential of their own, which none of the thirteen holds.
  if (operation.access === 'oauth-client' || operation.access === 'registration-token') return refusal(401, 'credential_invalid');
  if (!isRoleAccess(operation)) return exception?.(actor) ?? success;

  if (actor.kind === 'nobody') return refusal(401, 'unauthenticated');
  if (actor.kind === 'expired') return refusal(401, 'token_expired');
  if (rankOf(actor.role ?? 'viewer') < rankOf(operation.access)) return refusal(403, 'role_insufficient');
  if (actor.kind === 'key' && isForSessions(operation)) return refusal(403, 'scope_insufficient');

  const tables = targetsOf(operation).map(({ table }) => table);
  if (!isVisible(tables, actor)) return refusal(404, 'not_found');
  const special = exception?.(actor);
  if (special) return special;
  if (actor.sight === 'granted' && operation.access !== 'viewer' && tables.some(liesInHome)) return refusal(403, 'role_insufficient');
  const isOrganizationChanged = operation.method !== 'GET' && tables.at(-1) === 'organizations';
  if (isOrganizationChanged && isWorkspaceScoped(actor)) return refusal(403, 'resource_forbidden');
  return success;
}

/** Keys can't sign in or out, hold no session, and do nothing that needs an operator or a fresh factor. */
export function isForSessions(operation: RegisteredOperation): boolean {
  const isAboutSignIn = operation.area === 'Sessions' || (operation.area === 'Authentication' && operation.operationId !== 'getMe');
  return isAboutSignIn || operation.operationId === 'decideAuthorization' || operation.access === 'operator' || operation.stepUp === true;
}

/** The rows of a path lie in A1; organizations are seen by all who are in them, sessions are everybody's own. */
function isVisible(tables: readonly string[], { sight }: ActorSpec): boolean {
  if (sight === 'foreign') return tables.every((table) => shared.has(table));
  return sight !== 'second' || !tables.some(liesInHome);
}

/** What everybody has of their own, or is found by name. */
const shared: ReadonlySet<string> = new Set(['sessions', 'secrets', 'oauth_clients']);

/** Whether the row of a path is one of A1, where rank by grant counts (03 §5.1). */
function liesInHome(table: string): boolean {
  return !shared.has(table) && table !== 'organizations';
}

function isWorkspaceScoped({ sight }: ActorSpec): boolean {
  return sight === 'home' || sight === 'second' || sight === 'granted';
}

/** 03 §5.2: what belongs to the platform is for operators without X-View-* alone. */
function ofPlatform({ kind, sight }: ActorSpec): Expected | null {
  return kind === 'operator' && sight !== 'everything' ? refusal(403, 'resource_forbidden') : null;
}

/** What one operation does differently, with the clause that says so. */
const exceptions: Readonly<Record<string, (actor: ActorSpec) => Expected | null>> = {
  // 02 §5.1: the one operation without floor that looks at a bearer.
  verifyMfa: ({ kind }) =>
    kind === 'expired' ? refusal(401, 'token_expired') : kind === 'key' ? refusal(403, 'scope_insufficient') : null,
  createOrganization: ofPlatform,
  createOauthClient: ofPlatform,
  createModelPrice: ofPlatform,
  importModelPrices: ofPlatform,
  deleteModelPrice: ofPlatform,
  getMetrics: ofPlatform,
  getSystemStatus: ofPlatform,
  // 06 MCP server: without a session there is nothing to listen to and nothing to end.
  streamMcp: () => refusal(405, 'method_not_allowed'),
  endMcp: () => refusal(405, 'method_not_allowed'),
  // 03 §5.6: of others only from admin up.
  updateUser: ({ role, sight }) =>
    role === 'viewer' || role === 'member' || sight === 'granted' ? refusal(403, 'role_insufficient') : null,
};
