import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RegisteredOperation } from '../operation/operation.ts';

/** Headers that scripts of an allowed origin can read, in addition to those that Fetch always exposes. */
export const exposedHeaders = [
  'X-Correlation-Id',
  'X-Request-Duration-Ms',
  'ETag',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Idempotency-Replayed',
  'Deprecation',
  'Sunset',
  'Link',
  'WWW-Authenticate',
  'X-Impersonation-Id',
  'X-Run-Id',
  'Mcp-Session-Id',
  'Content-Disposition',
  'Content-Range',
  'Accept-Ranges',
  'Allow',
  'Accept-Post',
] as const;
const exposed = exposedHeaders.join(', ');
/** What they may send: all that operations take, and what tracing in a browser adds by itself (W3C Trace Context and Baggage). */
const requestHeaders = [
  'Authorization',
  'X-Api-Key',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'If-Range',
  'Range',
  'Last-Event-ID',
  'X-Acting-User',
  'X-View-Organization',
  'X-View-Workspace',
  'MCP-Protocol-Version',
  'Mcp-Session-Id',
  'Mcp-Method',
  'Mcp-Name',
  'traceparent',
  'tracestate',
  'baggage',
].join(', ');

/** Headers that every reply carries, whichever stage produced it. */
export function commonHeaders(request: FastifyRequest): Record<string, string> {
  return {
    'x-correlation-id': request.id,
    'x-request-duration-ms': durationMs(request.state?.startedAt),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    ...request.state?.headers,
  };
}

/**
 * The head of an event stream. Nothing on the way may rewrite it (RFC 9111 §5.2.2.6): what compresses a stream gathers it first, and its
 * reader sees nothing for minutes.
 */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** Adds the common headers to a reply of Fastify; `no-store` unless the reply says otherwise. */
export function finishHeaders(request: FastifyRequest, reply: FastifyReply): void {
  const { vary, ...headers } = commonHeaders(request);
  reply.headers(headers);
  if (vary !== undefined) reply.header('vary', withField(reply.getHeader('vary'), vary));
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
}

/** The head of a reply that its handler writes itself after `reply.hijack()`. */
export function rawHeaders(request: FastifyRequest, own: Readonly<Record<string, string>>): Record<string, string> {
  return { ...commonHeaders(request), 'cache-control': 'no-store', ...own };
}

/** CORS headers for a reply to this origin: public operations for everyone without credentials, the rest for listed origins only. */
export function corsHeaders(
  operation: RegisteredOperation | null,
  origin: string | undefined,
  allowed: readonly string[],
): Record<string, string> {
  if (operation?.cors === 'any') return { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed };
  if (allowed.length === 0) return {};
  if (origin === undefined || !allowed.includes(origin)) return { vary: 'Origin' };
  return { 'vary': 'Origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed };
}

/** Headers of a preflight reply, in addition to `corsHeaders`. */
export function preflightHeaders(methods: string): Record<string, string> {
  return { 'access-control-allow-methods': methods, 'access-control-allow-headers': requestHeaders, 'access-control-max-age': '600' };
}

/** A document varies with the encoding already; a reply may be finished twice. */
function withField(present: number | string | string[] | undefined, field: string): string {
  const fields = String(present ?? '')
    .split(', ')
    .filter((name) => name !== '' && name !== field);
  return [...fields, field].join(', ');
}

/** Milliseconds since the request's head was read, at most three digits after the point. */
function durationMs(startedAt: number | undefined): string {
  if (startedAt === undefined) return '0';
  return String(Math.round((performance.now() - startedAt) * 1_000) / 1_000);
}
