import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isPolicyViolation } from '../../db/faults.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { AppDeps } from './deps.ts';

/** One line and one measurement a request, when its last byte has left. */
export function recordRequests(app: FastifyInstance, deps: AppDeps): void {
  const { metrics } = deps;

  app.addHook('onResponse', (request, reply, done) => {
    const startedAt = request.state?.startedAt ?? performance.now();
    const durationMs = Math.round((performance.now() - startedAt) * 1_000) / 1_000;
    const operation = request.state?.operation?.operationId ?? null;
    metrics.requestDuration.observe({ operation: operation ?? 'none', status: String(reply.statusCode) }, durationMs / 1_000);

    const facts = { operation, method: request.method, status: reply.statusCode, duration_ms: durationMs, ...callerFacts(request) };
    if (request.state?.operation?.unlimited) request.log.debug(facts, 'request served');
    else request.log.info(facts, 'request served');
    done();
  });
  app.addHook('onError', (_request, _reply, error: Error, done) => {
    countFailure(metrics, error);
    done();
  });
}

/** Counts what a failing reply tells about the deployment itself. */
export function countFailure(metrics: AppDeps['metrics'], error: unknown): void {
  if (isPolicyViolation(error instanceof Failure ? error.cause : error)) metrics.rlsViolations.inc();
  if (!(error instanceof Failure) || error.code !== 'rate_limited') return;
  for (const policy of violatedPolicies(error)) metrics.rateLimited.inc({ policy });
}

function callerFacts(request: FastifyRequest): Record<string, string | null> {
  const caller = request.state?.caller;
  if (!caller || caller.kind === 'nobody') return {};
  return { caller: `${caller.kind}:${caller.principalId}`, organization_id: caller.organizationId };
}

function violatedPolicies(failure: Failure): readonly string[] {
  const policies = failure.context['violated_policies'];
  return Array.isArray(policies) ? policies.map(String) : [];
}
