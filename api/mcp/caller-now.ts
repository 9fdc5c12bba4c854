import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../db/caller.ts';
import { authenticate } from '../http/credentials/authenticate.ts';
import type { Deps } from '../http/operation/deps.ts';
import { stateOf } from '../http/operation/request-state.ts';
import { checkFloor, refuseRestricted } from '../http/credentials/role-floor.ts';

/** Who calls by now, for a request that lasts: its credential is looked at as at its start. Throws what a new request with it would be refused with. */
export async function callerNow(deps: Deps, request: FastifyRequest): Promise<Caller> {
  const { operation } = stateOf(request);
  const caller = await authenticate(deps, request, operation);
  if (operation) {
    refuseRestricted(operation, caller);
    checkFloor(operation, caller, deps.env.publicUrl);
  }
  return caller;
}
