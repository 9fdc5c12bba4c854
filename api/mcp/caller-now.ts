import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../db/caller.ts';
import { authenticate } from '../http/credentials/authenticate.ts';
import type { Deps } from '../http/operation/deps.ts';
import { stateOf } from '../http/operation/request-state.ts';
import { checkFloor, refuseRestricted } from '../http/credentials/role-floor.ts';

/** Returns the current caller of a long request: authenticates its credential again, as at its start. Throws what a new request with it would throw. */
export async function callerNow(deps: Deps, request: FastifyRequest): Promise<Caller> {
  const { operation } = stateOf(request);
  const caller = await authenticate(deps, request, operation);
  if (operation) {
    refuseRestricted(operation, caller);
    checkFloor(operation, caller, deps.env.publicUrl);
  }
  return caller;
}
