import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { Caller } from '../../db/caller.ts';
import { nobody } from '../../db/identity/caller.ts';
import { tenantOf } from '../../db/scope.ts';
import { admission } from './admission.ts';
import { perform, send } from './answer.ts';
import { actorOf } from './audit.ts';
import { bodyLimitOf } from './body.ts';
import type { AppDeps } from './deps.ts';
import { rawContext, userAgentOf, type Execution } from './make-context.ts';
import { claimKey } from './idempotency.ts';
import type { Area, RegisteredOperation } from './operation.ts';
import { cursorBinding, readPage, sealCursor } from './page.ts';
import { inputParser, type ParsedInput } from './parse-input.ts';
import { limitsOfRequest } from './rate-limit.ts';
import { stateOf } from './request-state.ts';

type RawHandle = (ctx: unknown, input: unknown, http: { request: FastifyRequest; reply: FastifyReply }) => Promise<void>;

/** Turns the operations of the areas into routes. `standing` gives headers that every reply of an operation carries. */
export function mount(
  app: FastifyInstance,
  deps: AppDeps,
  areas: readonly Area[],
  standing: (operation: RegisteredOperation) => Readonly<Record<string, string>>,
): void {
  for (const operation of areas.flatMap((area) => area.operations)) {
    if (operation.status === 'specified') continue;
    app.route({
      method: methodsOf(operation),
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      exposeHeadRoute: false,
      bodyLimit: bodyLimitOf(operation),
      onRequest: admission(deps, operation, standing(operation)),
      handler: server(deps, operation),
    });
  }
}

/** Methods under which an operation answers: HEAD goes with GET. */
export function methodsOf(operation: RegisteredOperation): HTTPMethods[] {
  return operation.method === 'GET' && operation.headReply === 'allowed' ? ['GET', 'HEAD'] : [operation.method];
}

function server(deps: AppDeps, operation: RegisteredOperation) {
  const parse = inputParser(operation);

  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const execution = await prepare(deps, operation, request, parse(request));
    if (operation.kind === 'raw') {
      // The registry erases each handler's own types; its schemas have just been enforced on the input.
      await (operation.handler as unknown as RawHandle)(rawContext(execution), execution.input, { request, reply });
      return reply;
    }

    const key = execution.input.idempotencyKey;
    const claim = key === null ? null : await claimKey(execution, key);
    if (claim?.kind === 'replay') return send(execution, reply, claim.reply);
    return perform(execution, reply, claim?.reservation ?? null);
  };
}

/** Identifies the caller where no credential did, and reads paging. */
async function prepare(deps: AppDeps, operation: RegisteredOperation, request: FastifyRequest, input: ParsedInput): Promise<Execution> {
  const state = stateOf(request);
  const admitted = state.caller ?? nobody;
  const userAgent = userAgentOf(request);
  const identified = await operation.identify?.({
    deps,
    caller: admitted,
    params: input.params,
    query: input.query,
    body: input.body,
    violations: input.violations,
    headers: request.headers,
    rawHeaders: request.raw.rawHeaders,
    address: state.address,
    limitAddress: state.limitAddress,
    limits: limitsOfRequest(deps.limits, state.headers),
    userAgent,
    correlationId: request.id,
    log: deps.log,
  });
  const caller = callerIn(identified) ?? admitted;
  state.caller = caller;

  const binding = () => cursorBinding(operation, caller, input);
  return {
    deps,
    operation,
    request,
    caller,
    input,
    identified,
    options: { tenant: tenantOf(caller), actor: actorOf(caller), correlationId: request.id },
    page: readPage(operation, input.query, deps.keys.cursorKeys, binding),
    sealCursor: (position) => sealCursor(position, deps.keys.cursorKeys, binding()),
  };
}

/** What `identify` found out about who asks, if it did. */
function callerIn(identified: unknown): Caller | null {
  if (typeof identified !== 'object' || identified === null || !('caller' in identified)) return null;
  // By contract of `identify`, a field of this name is the caller.
  return identified.caller as Caller;
}
