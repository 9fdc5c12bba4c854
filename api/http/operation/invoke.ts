import type { FastifyRequest } from 'fastify';
import { nobody } from '../../../domain/identity/callers/caller.ts';
import { countFailure } from '../access-log.ts';
import { carryOut } from '../reply/answer.ts';
import { isAuditedRefusal, recordAuditedRefusal } from '../reply/audited-refusals.ts';
import type { AppDeps } from './deps.ts';
import { logFailure, toEnvelope, toFailure } from '../reply/error-envelope.ts';
import type { ErrorEnvelopeView } from '../reply/error.schema.ts';
import { reserveOrReplay } from '../idempotency/idempotency.ts';
import type { RegisteredOperation } from './operation.ts';
import { argumentsParser, type ArgumentsParser } from '../input/parse-arguments.ts';
import { prepare } from './prepare.ts';
import { limitsOfRequest } from './rate-limit.ts';
import type { Rendered } from '../reply/render.ts';
import { stateOf } from './request-state.ts';
import { checkFloor, refuseRestricted } from '../credentials/role-floor.ts';

/** A call of one operation inside another's request, whose caller has been authenticated and whose limits have been counted. */
export interface Invocation {
  readonly operation: RegisteredOperation;
  readonly request: FastifyRequest;
  readonly args: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

export type Invoked =
  | { readonly kind: 'done'; readonly reply: Rendered }
  | { readonly kind: 'failed'; readonly envelope: ErrorEnvelopeView };

const exhaustiveBytes = 65_536;
const parsers = new WeakMap<RegisteredOperation, ArgumentsParser>();

/**
 * Runs an operation in this process; from the role floor on, the steps are those of its route: 403, 422, idempotency, transaction, audit, outbox. Never throws.
 */
export async function invoke(deps: AppDeps, invocation: Invocation): Promise<Invoked> {
  const startedAt = performance.now();
  const { operation, request } = invocation;
  const done = await attempt(deps, invocation);
  const status = done.kind === 'done' ? done.reply.status : done.envelope.status;
  request.log.info({ tool: operation.operationId, status, duration_ms: Math.round(performance.now() - startedAt) }, 'tool called');
  return done;
}

async function attempt(deps: AppDeps, invocation: Invocation): Promise<Invoked> {
  try {
    return { kind: 'done', reply: await run(deps, invocation) };
  } catch (error) {
    const { operation, request, args } = invocation;
    const failure = toFailure(error);
    logFailure(request.log, failure);
    countFailure(deps.metrics, error);
    if (isAuditedRefusal(request, failure)) await recordQuietly(deps, request, { operation, params: paramsOf(operation, args) });
    return { kind: 'failed', envelope: toEnvelope(failure, { publicUrl: deps.env.publicUrl, correlationId: request.id, operation }) };
  }
}

async function run(deps: AppDeps, { operation, request, args, signal }: Invocation): Promise<Rendered> {
  const caller = stateOf(request).caller ?? nobody;
  refuseRestricted(operation, caller);
  checkFloor(operation, caller, deps.env.publicUrl);
  const { headers, limitAddress } = stateOf(request);
  await operation.precheck?.({ deps, limitAddress, limits: limitsOfRequest(deps.limits, headers), headers: request.headers });

  const isShort = Number(request.headers['content-length'] ?? Infinity) <= exhaustiveBytes;
  const input = parserOf(operation)(args, isShort);
  const execution = await prepare(deps, operation, { request, input, readForm: null, source: 'mcp', signal });
  const reserved = input.idempotencyKey === null ? null : await reserveOrReplay(execution, input.idempotencyKey);
  if (reserved?.kind === 'replay') return reserved.reply;

  const { rendered, outgoing } = await carryOut(execution, reserved?.reservation ?? null);
  if (outgoing) void deps.dispatch(outgoing);
  return rendered;
}

function parserOf(operation: RegisteredOperation): ArgumentsParser {
  const known = parsers.get(operation);
  if (known) return known;
  const made = argumentsParser(operation);
  parsers.set(operation, made);
  return made;
}

/** Records a refusal before the reply; if that fails, the refusal still stands. */
async function recordQuietly(deps: AppDeps, request: FastifyRequest, tried: Parameters<typeof recordAuditedRefusal>[2]): Promise<void> {
  try {
    await recordAuditedRefusal(deps, request, tried);
  } catch (err) {
    request.log.error({ err }, 'refusal not recorded');
  }
}

function paramsOf(operation: RegisteredOperation, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(operation.params?.properties ?? {}).map((name) => [name, args[name]]));
}
