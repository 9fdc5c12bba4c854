import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../db/caller.ts';
import { isPolicyViolation } from '../../db/errors.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { AppDeps } from './operation/deps.ts';
import { templateOf } from './operation/request-state.ts';
import { endRequestSpan } from './tracing.ts';

/** One line and one measurement a request, when its last byte has left. */
export function recordRequests(app: FastifyInstance, deps: AppDeps): void {
  app.addHook('onResponse', (request, reply, done) => {
    recordReply(deps, request, reply);
    done();
  });
  app.addHook('onError', (_request, _reply, error: Error, done) => {
    countFailure(deps.metrics, error);
    done();
  });
}

/** The same for a request that the framework refuses before its hooks. */
export function recordReply({ metrics }: Pick<AppDeps, 'metrics'>, request: FastifyRequest, { statusCode: status }: FastifyReply): void {
  const { state } = request;
  const durationMs = durationOf(request);
  const operation = state?.operation?.operationId ?? null;
  metrics.requestDuration.observe({ operation: operation ?? 'none', status: String(status) }, durationMs / 1_000);

  const facts = {
    operation,
    method: request.method,
    path: templateOf(request),
    status,
    duration_ms: durationMs,
    address: state?.address ?? null,
    ...callerFacts(state?.caller),
  };
  if (state?.operation?.unlimited) request.log.debug(facts, 'request served');
  else request.log.info(facts, 'request served');
}

/**
 * Logs the line of a WebSocket at its end, because no hook sees the reply to an upgrade. Its duration is in no histogram: `longhaul_open_streams` counts the
 * socket while it is open. `caller` is null for a socket that was never authenticated.
 */
export function logSocketEnd(request: FastifyRequest, { closeCode, caller }: SocketEnd): void {
  endRequestSpan(request, 101);
  const facts = { operation: null, method: request.method, path: templateOf(request), status: 101, close_code: closeCode };
  request.log.info(
    { ...facts, duration_ms: durationOf(request), address: request.state?.address ?? null, ...callerFacts(caller) },
    'request served',
  );
}

/** How a WebSocket ended, and whose it was. */
export interface SocketEnd {
  /** 1006: the connection broke without a close. */
  readonly closeCode: number;
  readonly caller: Caller | null;
}

/** The same for what never became a request: unreadable bytes, and methods that Node answers outside the router. */
export function recordRefusal({ metrics, log }: Pick<AppDeps, 'metrics' | 'log'>, { correlationId, ...refusal }: Refusal): void {
  metrics.requestDuration.observe({ operation: 'none', status: String(refusal.status) }, 0);
  log.info({ correlation_id: correlationId, operation: null, path: null, duration_ms: 0, ...refusal }, 'request served');
}

/** A refusal that no hook sees. */
export interface Refusal {
  readonly correlationId: string;
  readonly method: string | null;
  readonly status: number;
  /** The client's, as far as it can be told without a request. */
  readonly address: string;
}

/** Counts failures that say something about the deployment itself. */
export function countFailure(metrics: AppDeps['metrics'], error: unknown): void {
  if (isPolicyViolation(error instanceof Failure ? error.cause : error)) metrics.rlsViolations.inc();
  if (!(error instanceof Failure) || error.code !== 'rate_limited') return;
  for (const policy of violatedPolicies(error)) metrics.rateLimited.inc({ policy });
}

function durationOf({ state }: FastifyRequest): number {
  return Math.round((performance.now() - (state?.startedAt ?? performance.now())) * 1_000) / 1_000;
}

function callerFacts(caller: Caller | null | undefined): Record<string, string | null> {
  if (!caller || caller.kind === 'nobody') return {};
  return { caller: `${caller.kind}:${caller.principalId}`, organization_id: caller.organizationId };
}

function violatedPolicies(failure: Failure): readonly string[] {
  const policies = failure.context['violated_policies'];
  return Array.isArray(policies) ? policies.map(String) : [];
}
