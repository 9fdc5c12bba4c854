import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../../db/caller.ts';
import { nobody } from '../../../domain/identity/callers/caller.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { authenticate, hasCredential } from '../credentials/authenticate.ts';
import { judgeBody, takesBody } from '../input/body.ts';
import type { AppDeps } from './deps.ts';
import { corsHeaders } from '../reply/headers.ts';
import type { RegisteredOperation } from './operation.ts';
import { limitsOfRequest, type LimitHit, type RequestLimits } from './rate-limit.ts';
import { stateOf, type RequestState } from './request-state.ts';
import { checkFloor, refuseRestricted } from '../credentials/role-floor.ts';
import { isRoleAccess } from '../credentials/scopes.ts';
import { unknownPath } from '../unknown-path.ts';
import { sendContinue } from '../input/unread-body.ts';

/** The checks of an operation that need no body, in the order of the contract: 404, 413 and 415, 401, 429, 403. */
export function requestChecks(deps: AppDeps, operation: RegisteredOperation, standingHeaders: Readonly<Record<string, string>>) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const state = stateOf(request);
    state.operation = operation;
    Object.assign(state.headers, standingHeaders, corsHeaders(operation, request.headers.origin, deps.env.corsOrigins));
    refuseEmptyParams(request, deps.env.publicUrl);
    judgeBody(operation, request, deps.env);

    const isIdentified = needsCaller(deps, operation, request);
    const caller = isIdentified ? await identifyCaller(deps, operation, request) : nobody;
    state.caller = caller;

    const limits = limitsOfRequest(deps.limits, state.headers);
    const hits = operation.unlimited ? [] : hitsOf(operation, caller, state);
    await limits.consume(hits);
    if (isIdentified) checkFloor(operation, caller, deps.env.publicUrl);
    await operation
      .precheck?.({ deps, limitAddress: state.limitAddress, limits, headers: request.headers })
      .catch((error) => refundIfOver(limits, hits, error));
    if (!takesBody(operation)) return;
    sendContinue(request, reply);
    // If the client has disconnected meanwhile, reading the body would wait for its end forever.
    if (request.raw.errored) throw request.raw.errored;
  };
}

/** Throws the refusal of a precheck. If it is a limit, refunds the others, as `Limits.consume` does. */
async function refundIfOver(limits: RequestLimits, hits: readonly LimitHit[], refusal: unknown): Promise<never> {
  if (refusal instanceof Failure && refusal.code === 'rate_limited') await limits.refund(hits);
  throw refusal;
}

/** Counts further work of a request that was counted as one. Throws `rate_limited`. */
export async function countFurther(deps: AppDeps, request: FastifyRequest, count: number): Promise<void> {
  const state = stateOf(request);
  const { operation, caller } = state;
  if (count === 0 || operation === null || caller === null) return;
  const hits = hitsOf(operation, caller, state).map((hit) => ({ ...hit, count }));
  await limitsOfRequest(deps.limits, state.headers).consume(hits);
}

/**
 * Whether the platform's credentials decide. If the operation requires a role: unless its own credential is accepted. Otherwise: only if it takes a session and
 * a credential is sent.
 */
function needsCaller(deps: AppDeps, operation: RegisteredOperation, request: FastifyRequest): boolean {
  if (isRoleAccess(operation)) return !(operation.ownCredential?.(deps, request) ?? false);
  return operation.takesSession === true && hasCredential(request.raw.rawHeaders);
}

async function identifyCaller(deps: AppDeps, operation: RegisteredOperation, request: FastifyRequest): Promise<Caller> {
  const identify = () => authenticate(deps, request, operation);
  const caller = await (isEventStream(operation) ? deps.hub.connectQueue.run('caller', request.raw.socket, identify) : identify());
  refuseRestricted(operation, caller);
  return caller;
}

function isEventStream(operation: RegisteredOperation): boolean {
  return operation.produces === 'text/event-stream';
}

/** Throws 404 for an empty parameter: the router matches `/tools/` to `/tools/{tool_id}`, but no path ends with a slash. */
function refuseEmptyParams(request: FastifyRequest, publicUrl: string): void {
  const params = request.params;
  if (typeof params === 'object' && params !== null && Object.values(params).includes(''))
    throw unknownPath(publicUrl, request.raw.url ?? '/');
}

function hitsOf(operation: RegisteredOperation, caller: Caller, state: RequestState): LimitHit[] {
  if (operation.access === 'none' || operation.access === 'registration-token') return [{ policy: 'anonymous', key: state.limitAddress }];
  if (caller.kind === 'nobody' || caller.principalId === null) return [];
  const tenantId = caller.view?.workspaceId ?? caller.workspaceId ?? caller.view?.organizationId ?? caller.organizationId;

  const principal: LimitHit = { policy: 'principal', key: `${caller.kind}:${caller.principalId}` };
  return tenantId === null ? [principal] : [principal, { policy: 'workspace', key: tenantId }];
}
