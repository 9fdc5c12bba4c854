import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../../db/caller.ts';
import { isOauthTokenLike } from '../../../domain/identity/callers/oauth-tokens.ts';
import { isServiceKeyLike, isWellFormedServiceKey, serviceKeyHashes } from '../../../db/identity/keys/service-key-format.ts';
import { fail, Failure } from '../../../workflows/contracts/failure.ts';
import { readDelegation, type Delegation, delegate, idOrNull, narrow } from './delegation.ts';
import type { Deps } from '../operation/deps.ts';
import { authenticateImpersonation } from './impersonation-credential.ts';
import { authenticateOauthToken } from './oauth-credential.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { challengeOf } from './role-floor.ts';
import { isMcpEndpoint } from './scopes.ts';
import { authenticateSession } from './session-credential.ts';
import { callerOfKey } from '../../../domain/identity/callers/caller.ts';
import { findServiceKey } from '../../../db/identity/lookup/credential-lookup.ts';

const impersonationPrefix = 'lh_im_';

/**
 * Who calls, by the credential of the request and the headers of delegation and narrowing: one query, nothing remembered.
 * A credential that can't be one (garbled, wrong check characters, bad signature, expired) costs no query. Failures are 400 for two
 * credentials, 401 with a challenge, 403, 404 and 422 for the headers (design: identity §5.1 and §5.7).
 */
export async function authenticate(deps: Deps, request: FastifyRequest, operation: RegisteredOperation | null = null): Promise<Caller> {
  try {
    const credential = readCredential(request.raw.rawHeaders);
    const delegation = readDelegation(request.headers);

    if (credential.startsWith(impersonationPrefix))
      return await authenticateImpersonation(deps, request, { token: credential, delegation });
    return await callerOf(deps, { credential, delegation, isMcp: isMcpEndpoint(operation) });
  } catch (error) {
    throw error instanceof Failure && error.status === 401 ? withChallenge(error, deps.env.publicUrl, operation) : error;
  }
}

function callerOf(
  deps: Deps,
  { credential, delegation, isMcp }: { credential: string; delegation: Delegation; isMcp: boolean },
): Promise<Caller> {
  if (isServiceKeyLike(credential)) return authenticateKey(deps, credential, delegation);
  if (isOauthTokenLike(credential)) return authenticateOauthToken(deps, { token: credential, delegation, resource: isMcp ? 'mcp' : 'api' });
  return authenticateSession(deps, credential, delegation);
}

/** Whether anything was sent that is meant as a credential. */
export function hasCredential(rawHeaders: readonly string[]): boolean {
  return credentialsIn(rawHeaders).length > 0;
}

// Counted in the raw headers: Node drops a second Authorization silently.
function credentialsIn(rawHeaders: readonly string[]): { name: string; value: string }[] {
  const found: { name: string; value: string }[] = [];

  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';

    if (name === 'authorization' || name === 'x-api-key') found.push({ name, value: rawHeaders[at + 1]?.trim() ?? '' });
  }
  return found;
}

function readCredential(rawHeaders: readonly string[]): string {
  const [credential, second] = credentialsIn(rawHeaders);

  if (!credential) throw fail('unauthenticated');
  if (second) throw fail('malformed_request', { detail: 'Send exactly one credential: either Authorization or X-Api-Key, once.' });
  if (credential.name === 'x-api-key') {
    if (!isServiceKeyLike(credential.value)) throw fail('credential_invalid');
    return credential.value;
  }
  const [, bearer] = /^bearer +(\S+)$/i.exec(credential.value) ?? [];

  if (bearer === undefined) throw fail('credential_invalid');
  return bearer;
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

/** The caller that a service key is; a key that can't be one causes no query. */
async function authenticateKey(deps: Deps, plaintext: string, delegation: Delegation): Promise<Caller> {
  if (!isWellFormedServiceKey(plaintext)) throw fail('credential_invalid');
  const found = await findServiceKey(deps.db, serviceKeyHashes(plaintext, deps.keys.peppers), idOrNull(delegation.actingUser));
  const caller = found && callerOfKey(found.key, found.creator);

  if (!found || !caller) throw fail('credential_invalid');
  deps.identity.uses.record('service_key', found.key.id, found.key.lastUsedAt);
  return delegate(narrow(caller, delegation, null), delegation, found.acting);
}
