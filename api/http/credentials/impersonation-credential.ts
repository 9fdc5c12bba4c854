import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../../db/caller.ts';
import { callerOfImpersonation } from '../../../domain/identity/callers/caller.ts';
import { findImpersonation } from '../../../db/identity/lookup/credential-lookup.ts';
import { isOpaqueToken, tokenHash } from '../../../db/identity/factors/opaque-tokens.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { narrow, type Delegation } from './delegation.ts';
import type { Deps } from '../operation/deps.ts';
import { stateOf } from '../operation/request-state.ts';

/**
 * The caller of an impersonation token: the target's role and scope, in the operator's hands. Known before the headers of delegation and
 * narrowing are refused, so that the refusal names the impersonation too.
 */
export async function authenticateImpersonation(
  deps: Deps,
  request: FastifyRequest,
  { token, delegation }: { token: string; delegation: Delegation },
): Promise<Caller> {
  if (!isOpaqueToken('impersonation', token)) throw fail('credential_invalid');
  const found = await findImpersonation(deps.db, tokenHash(token));

  if (!found) throw fail('credential_invalid');
  const caller = callerOfImpersonation(found);
  const state = stateOf(request);
  state.caller = caller;
  state.headers['x-impersonation-id'] = found.id;

  if (delegation.actingUser.state !== 'absent') {
    throw fail('resource_forbidden', { reason: 'delegation_not_allowed', detail: 'X-Acting-User cannot be used in an impersonation.' });
  }
  return narrow(caller, delegation, null);
}
