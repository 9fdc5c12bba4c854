import type { ErrorCode } from '../../../workflows/contracts/error-codes.ts';
import { Failure, type FailureOptions } from '../../../workflows/contracts/failure.ts';
import type { RegisteredOperation } from '../operation/operation.ts';

/** Error codes of OAuth: RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2, RFC 8707 §2, RFC 6750 §3.1. */
export type OauthError =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'invalid_token'
  | 'server_error'
  | 'temporarily_unavailable';

/** A refusal that carries the code of an RFC in addition to our own. */
export class OauthFailure extends Failure {
  readonly error: OauthError;

  constructor(code: ErrorCode, error: OauthError, options: FailureOptions) {
    super(code, options);
    this.error = error;
  }
}

/** 400 `oauth_request_invalid` with the RFC's code. */
export function oauthFail(error: OauthError, detail: string, options: Omit<FailureOptions, 'detail'> = {}): OauthFailure {
  return new OauthFailure('oauth_request_invalid', error, { ...options, detail });
}

/** 401 `credential_invalid`: a client that is unknown or fails authentication. */
export function clientRefused(): OauthFailure {
  return new OauthFailure('credential_invalid', 'invalid_client', { detail: 'The client is unknown or its authentication failed.' });
}

/** Whether failures of an operation are read by OAuth clients, which want plain JSON (RFC 6749 §5.2). */
export function answersOauthClients(operation: RegisteredOperation | null): boolean {
  return operation !== null && /^\/oauth\/(?:token|revoke|introspect|register)(?:\/|$)/.test(operation.path);
}

/** `error` and `error_description` of a failing OAuth operation; nothing elsewhere. */
export function oauthFields(operation: RegisteredOperation | null, failure: Failure): { error?: string; error_description?: string } {
  if (operation?.area !== 'Oauth') return {};
  return { error: errorOf(operation, failure), error_description: describable(failure.detail) };
}

function errorOf(operation: RegisteredOperation, failure: Failure): OauthError {
  if (failure instanceof OauthFailure) return failure.error;
  if (failure.status === 401) return operation.access === 'oauth-client' ? 'invalid_client' : 'invalid_token';
  if (failure.status === 403) return 'access_denied';
  if (failure.status === 429 || failure.status === 503) return 'temporarily_unavailable';
  if (failure.status >= 500) return 'server_error';
  return operation.operationId === 'registerOauthClient' ? 'invalid_client_metadata' : 'invalid_request';
}

/** RFC 6749 §5.2 allows printable ASCII without quotation mark and backslash. */
function describable(detail: string): string {
  return detail
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .slice(0, 500);
}
