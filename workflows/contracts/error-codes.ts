/** The 38 error codes: HTTP status, whether the same request can succeed later, title, when it is thrown and what to do. */
export const errorCodes = {
  malformed_request: entry(
    400,
    false,
    'Malformed request',
    'unparseable JSON or form, bad URL escape, more than one credential kind, conflicting duplicate header',
    'Correct the request before sending it again.',
  ),
  oauth_request_invalid: entry(
    400,
    false,
    'OAuth request refused',
    'an OAuth request refused on its meaning; `error` carries the RFC code',
    'Read `error` and start the flow again.',
  ),
  unauthenticated: entry(
    401,
    false,
    'Credential missing',
    'no credential',
    'Send a service key or an access token as Authorization: Bearer.',
  ),
  credential_invalid: entry(
    401,
    false,
    'Credential invalid',
    'unknown, garbled, rotated or deleted credential, wrong audience, wrong OAuth client secret',
    'Obtain a new credential.',
  ),
  token_expired: entry(
    401,
    false,
    'Token expired',
    'access token past its end: refresh, then resend',
    'Refresh the access token and resend.',
  ),
  login_failed: entry(
    401,
    false,
    'Login failed',
    'wrong address or password, or inactive user: one answer, one timing',
    'Check address and password.',
  ),
  mfa_required: entry(
    401,
    false,
    'Second factor required',
    'the operation or the organization asks for a (fresh) second factor',
    'Verify a second factor, then resend.',
  ),
  mfa_code_invalid: entry(401, false, 'Code invalid', 'wrong or over-tried code; dead challenge', 'Start again with a new challenge.'),
  session_revoked: entry(401, false, 'Session revoked', 'device family revoked, password reset, user deactivated', 'Sign in again.'),
  refresh_reuse_detected: entry(
    401,
    false,
    'Refresh token reused',
    'a rotated refresh token seen outside the race rule; the family is revoked',
    'Sign in again.',
  ),
  stream_token_invalid: entry(401, false, 'Stream token invalid', 'expired, other run, or not a stream token', 'Make a new stream token.'),
  stream_token_used: entry(401, false, 'Stream token used', 'second socket with one stream token', 'Make a new stream token.'),
  signature_invalid: entry(
    401,
    false,
    'Signature invalid',
    'ingress signature or shared token missing or wrong, or timestamp outside tolerance',
    'Sign the exact bytes with the current secret.',
  ),
  budget_exceeded: entry(
    402,
    false,
    'Budget exceeded',
    'an enforced ceiling is reached for the period',
    'Raise the budget or wait for the next period.',
  ),
  role_insufficient: entry(
    403,
    false,
    'Role insufficient',
    'below the floor; X-Acting-User below admin; X-View-* by a non-operator; rank rules',
    'Ask somebody with a higher role.',
  ),
  scope_insufficient: entry(
    403,
    false,
    'Scope insufficient',
    'service key or OAuth token lacks a scope',
    'Use a credential that carries the scope.',
  ),
  resource_forbidden: entry(403, false, 'Resource forbidden', 'visible but not modifiable', 'Ask the owner of the resource.'),
  registration_disabled: entry(
    403,
    false,
    'Registration disabled',
    'dynamic client registration is switched off',
    'Ask the operator for a client.',
  ),
  not_found: entry(404, false, 'Not found', 'unknown route; absent, deleted or foreign resource', 'Check the path and the id.'),
  method_not_allowed: entry(405, false, 'Method not allowed', 'known path, wrong method; Allow is set', 'Use a method that Allow names.'),
  already_exists: entry(
    409,
    false,
    'Already exists',
    'slug, address or binding taken in that scope',
    'Choose another name or use the existing one.',
  ),
  state_conflict: entry(
    409,
    false,
    'State conflict',
    'illegal transition, still referenced, last owner, busy conversation, already resolved; `context.reason` names it',
    'Read the resource again and decide anew.',
  ),
  idempotency_in_progress: entry(
    409,
    true,
    'Request in progress',
    'the same key is still executing',
    'Send the same request again after Retry-After.',
  ),
  refresh_superseded: entry(
    409,
    false,
    'Refresh superseded',
    'lost the refresh race: use the token that the winner received',
    'Use the tokens of the successful refresh.',
  ),
  gone: entry(410, false, 'Gone', 'used or expired invitation, reset link or confirmation', 'Ask for a new one.'),
  precondition_failed: entry(
    412,
    false,
    'Precondition failed',
    'If-Match does not match; the current ETag is in `context`',
    'Read the resource again and repeat the change.',
  ),
  payload_too_large: entry(413, false, 'Payload too large', 'body or attachment over its limit', 'Send less.'),
  unsupported_media_type: entry(
    415,
    false,
    'Unsupported media type',
    'content type not accepted',
    'Use a content type that Accept-Post names.',
  ),
  validation_failed: entry(
    422,
    false,
    'Validation failed',
    'schema violation, unknown body field, unknown filter, unresolvable reference, egress refused',
    'Correct what `errors` lists.',
  ),
  cursor_invalid: entry(
    422,
    false,
    'Cursor invalid',
    'tampered or foreign cursor, or one issued for other filters; stream cursor ahead of the run',
    'Start again from the first page.',
  ),
  idempotency_key_mismatch: entry(
    422,
    false,
    'Idempotency key mismatch',
    'the same key with another fingerprint',
    'Use a new key for a different request.',
  ),
  resource_frozen: entry(
    423,
    false,
    'Resource frozen',
    'frozen knowledge base, archived workspace, suspended organization',
    'Restore or resume it first.',
  ),
  precondition_required: entry(
    428,
    false,
    'Precondition required',
    'If-Match missing where the operation demands it',
    'Read the resource and send its ETag in If-Match.',
  ),
  rate_limited: entry(
    429,
    true,
    'Rate limited',
    'request rate, login throttle, concurrency or budget reservations in flight; Retry-After',
    'Wait for Retry-After.',
  ),
  internal_error: entry(
    500,
    true,
    'Internal error',
    'unexpected fault; generic text',
    'Try again; report the correlation id if it persists.',
  ),
  upstream_failed: entry(502, true, 'Upstream failed', 'model provider, tool server, Git host or mailer failed', 'Try again later.'),
  service_unavailable: entry(
    503,
    true,
    'Service unavailable',
    'Postgres, Redis or Temporal down, draining; Retry-After',
    'Wait for Retry-After.',
  ),
  upstream_timeout: entry(504, true, 'Upstream timeout', 'an upstream exceeded its deadline', 'Try again later.'),
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof errorCodes;

/** The codes in the order of the catalogue. */
// Object.keys widens to string[]; the record above is closed, so the narrower type holds.
export const errorCodeNames = Object.keys(errorCodes) as ErrorCode[];

export interface ErrorCodeEntry {
  readonly status: number;
  readonly retryable: boolean;
  readonly title: string;
  readonly when: string;
  readonly remedy: string;
}

function entry<const Status extends number>(status: Status, retryable: boolean, title: string, when: string, remedy: string) {
  return { status, retryable, title, when, remedy };
}
