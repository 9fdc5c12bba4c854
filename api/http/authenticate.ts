import type { FastifyRequest } from 'fastify';
import { actAs, callerOfKey, callerOfPerson, narrowTo, refuseDelegation } from '../../db/identity/caller.ts';
import { findServiceKey, findSession, type SessionAnswer } from '../../db/identity/gates.ts';
import type { Person } from '../../db/identity/people.ts';
import { isServiceKeyLike, isWellFormedServiceKey, serviceKeyHashes } from '../../db/identity/service-key-format.ts';
import type { Caller } from '../../db/caller.ts';
import { Failure, fail } from '../../workflows/contracts/failure.ts';
import type { Deps } from './deps.ts';
import type { RegisteredOperation } from './operation.ts';
import { challengeOf } from './role-floor.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Headers by which a caller acts as another or narrows its view. */
const delegationHeaders = {
  actingUser: 'X-Acting-User',
  viewOrganization: 'X-View-Organization',
  viewWorkspace: 'X-View-Workspace',
} as const;
type Delegation = Readonly<Record<keyof typeof delegationHeaders, HeaderId>>;

/** An id in a header: absent, no uuid, or the lower-cased uuid. */
type HeaderId = { readonly state: 'absent' } | { readonly state: 'garbled' } | { readonly state: 'id'; readonly id: string };

/**
 * Who calls, by the credential of the request and the headers of delegation and narrowing: one query, nothing remembered.
 * A credential that can't be one (garbled, wrong check characters, bad signature, expired) costs no query. Failures are 400 for two
 * credentials, 401 with a challenge, 403, 404 and 422 for the headers (design: identity §5.1 and §5.7).
 */
export async function authenticate(deps: Deps, request: FastifyRequest, operation: RegisteredOperation | null = null): Promise<Caller> {
  try {
    const credential = readCredential(request.raw.rawHeaders);
    const delegation = readDelegation(request.headers);

    return isServiceKeyLike(credential)
      ? await authenticateKey(deps, credential, delegation)
      : await authenticateSession(deps, credential, delegation);
  } catch (error) {
    throw error instanceof Failure && error.status === 401 ? withChallenge(error, deps.env.publicUrl, operation) : error;
  }
}

async function authenticateSession(deps: Deps, token: string, delegation: Delegation): Promise<Caller> {
  const claims = await deps.identity.tokens.verify(token);
  const found = await findSession(deps.db, {
    sessionId: claims.sessionId,
    userId: claims.userId,
    actingUserId: idOrNull(delegation.actingUser),
    viewOrganizationId: idOrNull(delegation.viewOrganization),
    viewWorkspaceId: idOrNull(delegation.viewWorkspace),
  });

  if (!found || found.session.kind !== 'login') throw fail('credential_invalid');
  if (found.session.isRevoked || !found.person.isActive) throw fail('session_revoked');
  if (found.session.isOver) throw fail('token_expired');
  deps.identity.marks.note('session', found.session.id, found.session.lastSeenAt);
  return delegate(narrow(callerOfPerson(found.person, found.session), delegation, found), delegation, found.acting);
}

async function authenticateKey(deps: Deps, plaintext: string, delegation: Delegation): Promise<Caller> {
  if (!isWellFormedServiceKey(plaintext)) throw fail('credential_invalid');
  const found = await findServiceKey(deps.db, serviceKeyHashes(plaintext, deps.keys.peppers), idOrNull(delegation.actingUser));
  const caller = found && callerOfKey(found.key, found.creator);

  if (!found || !caller) throw fail('credential_invalid');
  deps.identity.marks.note('service_key', found.key.id, found.key.lastUsedAt);
  return delegate(narrow(caller, delegation, null), delegation, found.acting);
}

// Narrowing is for operators; from anybody else it is refused and never ignored, so that nobody believes it has worked.
function narrow(caller: Caller, delegation: Delegation, found: SessionAnswer | null): Caller {
  const { viewOrganization, viewWorkspace } = delegation;

  if (viewOrganization.state === 'absent' && viewWorkspace.state === 'absent') return caller;
  if (caller.role !== 'operator' || !found) {
    throw fail('role_insufficient', { detail: 'X-View-Organization and X-View-Workspace are for operators' });
  }
  if (viewOrganization.state === 'garbled') throw noUuid('viewOrganization');
  if (viewWorkspace.state === 'garbled') throw noUuid('viewWorkspace');

  const workspace = viewWorkspace.state === 'id' ? found.viewWorkspace : null;
  const organizationId = viewOrganization.state === 'id' ? found.viewOrganization : (workspace?.organizationId ?? null);
  const isWorkspaceMissing = viewWorkspace.state === 'id' && workspace?.organizationId !== organizationId;

  if (organizationId === null || isWorkspaceMissing) throw fail('not_found', { detail: 'no such organization or workspace to view' });
  return narrowTo(caller, { organizationId, workspaceId: workspace?.id ?? null });
}

function delegate(caller: Caller, { actingUser }: Delegation, acting: Person | null): Caller {
  if (actingUser.state === 'absent') return caller;
  refuseDelegation(caller);
  if (actingUser.state === 'garbled') throw noUuid('actingUser');
  return actAs(caller, acting);
}

// Counted in the raw headers: Node drops a second Authorization silently.
function readCredential(rawHeaders: readonly string[]): string {
  const found: { name: string; value: string }[] = [];

  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';

    if (name === 'authorization' || name === 'x-api-key') found.push({ name, value: rawHeaders[at + 1]?.trim() ?? '' });
  }
  const [credential, second] = found;

  if (!credential) throw fail('unauthenticated');
  if (second) throw fail('malformed_request', { detail: 'send exactly one credential: Authorization or X-Api-Key, once' });
  if (credential.name === 'x-api-key') {
    if (!isServiceKeyLike(credential.value)) throw fail('credential_invalid');
    return credential.value;
  }
  const [, bearer] = /^bearer +(\S+)$/i.exec(credential.value) ?? [];

  if (bearer === undefined) throw fail('credential_invalid');
  return bearer;
}

function readDelegation(headers: FastifyRequest['headers']): Delegation {
  const read = (name: keyof Delegation): HeaderId => {
    const value = headers[delegationHeaders[name].toLowerCase()];

    if (value === undefined) return { state: 'absent' };
    return typeof value === 'string' && uuidPattern.test(value) ? { state: 'id', id: value.toLowerCase() } : { state: 'garbled' };
  };

  return { actingUser: read('actingUser'), viewOrganization: read('viewOrganization'), viewWorkspace: read('viewWorkspace') };
}

function idOrNull(header: HeaderId): string | null {
  return header.state === 'id' ? header.id : null;
}

function noUuid(header: keyof Delegation): Failure {
  const name = delegationHeaders[header];
  const message = `${name} must be a uuid`;

  return fail('validation_failed', {
    detail: message,
    errors: [{ in: 'header', pointer: null, name, rule: 'format', message, params: { format: 'uuid' } }],
  });
}

// RFC 6750 §3.1: no error attribute when no credential was sent.
function withChallenge(failure: Failure, publicUrl: string, operation: RegisteredOperation | null): Failure {
  const challenge = challengeOf(publicUrl, operation, failure.code === 'unauthenticated' ? null : 'invalid_token');

  return fail(failure.code, {
    detail: failure.detail,
    context: failure.context,
    headers: { ...failure.headers, 'www-authenticate': challenge },
    cause: failure,
  });
}
