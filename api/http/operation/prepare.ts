import type { Caller } from '../../../db/caller.ts';
import { nobody } from '../../../domain/identity/callers/caller.ts';
import { tenantOf } from '../../../db/transaction.ts';
import { actorOf } from './audit.ts';
import type { IdentifyRequest } from './context.ts';
import type { AppDeps } from './deps.ts';
import { userAgentOf, type Execution } from './make-context.ts';
import type { FormReader } from '../input/multipart.ts';
import type { RegisteredOperation } from './operation.ts';
import { cursorBinding, readPage, signCursor } from '../reply/page.ts';
import { rawQuery, type ParsedInput } from '../input/parse-input.ts';
import { limitsOfRequest } from './rate-limit.ts';
import { stateOf } from './request-state.ts';
import { floorOf } from '../credentials/role-floor.ts';

/** A valid request for one operation, and how it came. */
export interface Prepared extends Pick<Execution, 'request' | 'source' | 'signal'> {
  readonly input: ParsedInput;
  /** Null unless the operation is `multipart`. */
  readonly readForm: FormReader | null;
}

/** Runs the operation's `identify`, determines the caller, and reads paging. */
export async function prepare(deps: AppDeps, operation: RegisteredOperation, given: Prepared): Promise<Execution> {
  const { request, source, signal } = given;
  const state = stateOf(request);
  const authenticated = state.caller ?? nobody;
  const identified = await identify(deps, operation, given, authenticated);
  const caller = callerIn(identified) ?? authenticated;
  state.caller = caller;
  const input = operation.multipart || operation.rawBody ? { ...given.input, body: fieldOf(identified, 'body') } : given.input;

  const binding = () => cursorBinding(operation, caller, input);
  return {
    deps,
    operation,
    request,
    source,
    signal,
    caller,
    input,
    identified,
    options: { tenant: tenantOf(caller), actor: actorOf(caller), correlationId: request.id },
    page: readPage(operation, input.query, deps.keys.cursorKeys, binding),
    signCursor: (position) => signCursor(position, deps.keys.cursorKeys, binding()),
  };
}

async function identify(
  deps: AppDeps,
  operation: RegisteredOperation,
  { request, input, readForm }: Prepared,
  caller: Caller,
): Promise<unknown> {
  const state = stateOf(request);
  // The registry erases the types of each `identify`; the operation's schemas have just been enforced on what it gets.
  const own = operation.identify as ((request: IdentifyRequest) => Promise<unknown>) | undefined;
  return own?.({
    deps,
    caller,
    floor: floorOf(operation),
    params: input.params,
    query: input.query,
    body: input.body,
    violations: input.violations,
    readForm: readForm ?? noForm,
    headers: request.headers,
    search: rawQuery(request),
    rawHeaders: request.raw.rawHeaders,
    address: state.address,
    limitAddress: state.limitAddress,
    limits: limitsOfRequest(deps.limits, state.headers),
    userAgent: userAgentOf(request),
    correlationId: request.id,
    log: deps.log,
  });
}

/** Returns the caller that `identify` found, if any. */
function callerIn(identified: unknown): Caller | null {
  // By contract of `identify`, a field of this name is the caller.
  return (fieldOf(identified, 'caller') as Caller | undefined) ?? null;
}

function fieldOf(identified: unknown, name: 'caller' | 'body'): unknown {
  return typeof identified === 'object' && identified !== null ? Reflect.get(identified, name) : undefined;
}

function noForm(): never {
  throw new Error('this operation does not accept a form');
}
