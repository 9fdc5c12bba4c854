import { context, propagation, ROOT_CONTEXT, trace, type Span } from '@opentelemetry/api';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { attribute, ownAttribute } from '../../ports/telemetry/conventions.ts';
import { failSpan, startSpan } from '../../ports/telemetry/spans.ts';
import { templateOf } from './operation/request-state.ts';

const spans = new WeakMap<FastifyRequest, Span>();

/**
 * Adds a server span to each request, named by method and route, below the caller's `traceparent`. The path itself and the query are left out, because they
 * may hold secrets. Everything that the request does runs in the span.
 */
export function traceRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const parent = propagation.extract(ROOT_CONTEXT, request.headers);
    const route = templateOf(request);
    const span = startSpan({
      name: route === null ? request.method : `${request.method} ${route}`,
      kind: 'server',
      parent,
      attributes: {
        [attribute.method]: request.method,
        [attribute.scheme]: request.protocol,
        [ownAttribute.correlationId]: request.id,
        ...(route === null ? {} : { [attribute.route]: route }),
      },
    });
    spans.set(request, span);
    context.with(trace.setSpan(parent, span), done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    endRequestSpan(request, reply.statusCode);
    done();
  });
}

/** Ends the span of a request whose answer has been sent, or whose socket has ended. */
export function endRequestSpan(request: FastifyRequest, status: FastifyReply['statusCode']): void {
  const span = spans.get(request);
  if (!span) return;
  const { operation, caller } = request.state ?? {};
  span.setAttribute(attribute.status, status);
  if (operation) span.setAttribute(ownAttribute.operation, operation.operationId);
  if (caller && caller.kind !== 'nobody' && caller.organizationId !== null)
    span.setAttribute(ownAttribute.organizationId, caller.organizationId);
  if (status >= 500) failSpan(span, String(status));
  span.end();
}
