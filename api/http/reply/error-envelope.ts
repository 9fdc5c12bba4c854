import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { toFailure as toDatabaseFailure } from '../../../db/errors.ts';
import { errorCodes } from '../../../workflows/contracts/error-codes.ts';
import { fail, Failure } from '../../../workflows/contracts/failure.ts';
import { unsupported } from '../input/body.ts';
import type { ErrorEnvelopeView } from './error.schema.ts';
import { finishHeaders } from './headers.ts';
import { answersOauthClients, oauthFields } from '../credentials/oauth-failure.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { pageType, takesPages } from '../openapi/web-page.ts';
import { challengeOf } from '../credentials/role-floor.ts';
import { endUnreadBody } from '../input/unread-body.ts';
import { sortViolations } from '../input/violations.ts';

const problemType = 'application/problem+json; charset=utf-8';
const plainType = 'application/json; charset=utf-8';
const retryAfterUnavailableS = 5;

/** The body of a failing reply, of an `error` frame and of an upgrade that is refused. */
export function toEnvelope(
  failure: Failure,
  options: { publicUrl: string; correlationId: string; operation?: RegisteredOperation | null },
): ErrorEnvelopeView {
  const { status, retryable, title } = errorCodes[failure.code];
  return {
    type: `${options.publicUrl}/error-codes#${failure.code}`,
    title,
    status,
    detail: failure.detail.slice(0, 500),
    instance: `urn:uuid:${options.correlationId}`,
    code: failure.code,
    retryable,
    retry_after_s: retryAfterOf(failure),
    correlation_id: options.correlationId,
    errors: sortViolations(failure.errors),
    context: failure.context,
    ...oauthFields(options.operation ?? null, failure),
  };
}

/** What a thrown value means on the wire; whatever is unknown is `internal_error` with a generic text. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const database = toDatabaseFailure(error);
  if (database) return database;
  return isFastifyError(error) ? fromFastify(error) : fail('internal_error', { cause: error });
}

/** Answers with the envelope, or to a browser with the operation's page of it; the reply's headers are complete afterwards. */
export function sendFailure(publicUrl: string, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const failure = brokenOff(request, error) ?? toFailure(error);
  const retryAfterS = retryAfterOf(failure);
  logFailure(request.log, failure);

  reply.code(failure.status).headers(failure.headers);
  if (retryAfterS !== null) reply.header('retry-after', String(retryAfterS));
  const challenge = challengeFor(publicUrl, request, failure);
  if (challenge && !reply.hasHeader('www-authenticate')) reply.header('www-authenticate', challenge);
  // The framework closes after every body that it could not parse; here only what is left of it decides.
  reply.removeHeader('connection');
  endUnreadBody(request, reply);
  const operation = request.state?.operation ?? null;
  const envelope = toEnvelope(failure, { publicUrl, correlationId: request.id, operation });
  const page = takesPages(request.headers.accept) ? operation?.failurePage?.(envelope) : undefined;
  const type = page ? pageType : answersOauthClients(operation) ? plainType : problemType;
  reply.removeHeader('etag').removeHeader('content-encoding').header('content-type', type).header('cache-control', 'no-store');
  if (page) reply.headers(page.headers);

  finishHeaders(request, reply);
  reply.send(page?.html ?? JSON.stringify(envelope));
}

/** The failure for a client that disconnected in the middle of its body: no client reads it, and it is not our fault. */
function brokenOff({ raw, log }: FastifyRequest, error: unknown): Failure | null {
  if (!(error instanceof Error) || raw.errored !== error) return null;
  log.info('client left in the middle of its body');
  return fail('malformed_request', { detail: 'The body is incomplete.' });
}

function retryAfterOf(failure: Failure): number | null {
  if (failure.retryAfterS !== null) return Math.min(86_400, Math.max(1, Math.ceil(failure.retryAfterS)));
  if (failure.code === 'service_unavailable') return retryAfterUnavailableS;
  return failure.code === 'idempotency_in_progress' || failure.code === 'rate_limited' ? 1 : null;
}

/** On every 401, and on 403 for a scope; what `authenticate` and `checkFloor` set themselves stays. */
function challengeFor(publicUrl: string, request: FastifyRequest, failure: Failure): string | null {
  if (failure.status !== 401 && failure.code !== 'scope_insufficient') return null;
  const operation = request.state?.operation ?? null;
  // RFC 6749 §5.2: the scheme by which a client can authenticate.
  if (operation?.access === 'oauth-client') return 'Basic realm="oauth", charset="UTF-8"';
  const hasCredential = request.headers.authorization !== undefined || request.headers['x-api-key'] !== undefined;
  const error = failure.code === 'scope_insufficient' ? 'insufficient_scope' : hasCredential ? 'invalid_token' : null;
  return challengeOf(publicUrl, operation, error);
}

function fromFastify(error: FastifyError): Failure {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return fail('payload_too_large', { cause: error });
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return toFailure(unsupported('The content type is not supported.'));
  return (error.statusCode ?? 500) < 500 ? fail('malformed_request', { cause: error }) : fail('internal_error', { cause: error });
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');
}

/** A line about a failure of ours; refusals have the line of their request. */
export function logFailure(log: FastifyRequest['log'], failure: Failure): void {
  const facts = { code: failure.code, status: failure.status };
  if (failure.code === 'internal_error') log.error({ ...facts, err: failure.cause ?? failure }, 'request failed on a bug');
  else if (failure.status >= 500) log.warn({ ...facts, err: failure.cause ?? failure }, 'request failed');
}
