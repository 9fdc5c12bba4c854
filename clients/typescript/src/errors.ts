import type { ErrorEnvelope } from './generated/types.ts';

/** The codes of the contract. */
export type ErrorCode = ErrorEnvelope['code'];

/** What is known of a failed reply. `unreadable_reply`: not the contract's error, as from a proxy. */
export type Problem = Omit<ErrorEnvelope, 'code' | 'type' | 'instance'> & {
  code: ErrorCode | 'unreadable_reply';
  type: string | null;
  instance: string | null;
};

/** A reply that refused the request. Holds every field of the contract's error, and no part of the request. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly type: string | null;
  readonly title: string;
  readonly status: number;
  /** For people. */
  readonly detail: string;
  readonly instance: string | null;
  /** For programs; see `isCode`. A later release may send one that this client does not know. */
  readonly code: ErrorCode | 'unreadable_reply';
  /** The same request, unchanged, can succeed later. */
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | null;
  /** Names the request in the deployment's logs. Null if the reply was no reply of the deployment. */
  readonly correlationId: string | null;
  /** What was wrong with the request, by place. */
  readonly errors: ErrorEnvelope['errors'];
  /** Facts that the code's description names, such as `reason` or `etag`. */
  readonly context: ErrorEnvelope['context'];
  /**
   * An earlier try of this change got no reply and may have been applied: then the version in `context.etag` is the caller's own. Read again before deciding.
   */
  readonly maybeApplied: boolean;

  constructor(problem: Problem, options: { readonly maybeApplied?: boolean } = {}) {
    super(`${problem.status} ${problem.code}: ${problem.detail}`);
    this.type = problem.type;
    this.title = problem.title;
    this.status = problem.status;
    this.detail = problem.detail;
    this.instance = problem.instance;
    this.code = problem.code;
    this.retryable = problem.retryable;
    this.retryAfterSeconds = problem.retry_after_s;
    this.correlationId = problem.correlation_id === '' ? null : problem.correlation_id;
    this.errors = problem.errors;
    this.context = problem.context;
    this.maybeApplied = options.maybeApplied ?? false;
  }
}

/** No reply came, however often it was tried, or not before the deadline. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** Whether something thrown is an error of the contract, with this code. */
export function isCode(error: unknown, code: ErrorCode | 'unreadable_reply'): error is ApiError {
  return error instanceof ApiError && error.code === code;
}

/** The error of a failed reply; `text` is its body. */
export function errorOf(reply: Response, text: string): ApiError {
  const problem = envelopeIn(text);
  return new ApiError(problem ?? unreadable(reply));
}

/** An error of a stream's notice. */
export function envelopeIn(text: string): Problem | null {
  try {
    const found: unknown = JSON.parse(text);
    return isEnvelope(found) ? found : null;
  } catch {
    return null;
  }
}

export function isEnvelope(found: unknown): found is Problem {
  if (typeof found !== 'object' || found === null) return false;
  const { code, status, detail, retryable } = found as Partial<Problem>; // looked at below
  return typeof code === 'string' && typeof status === 'number' && typeof detail === 'string' && typeof retryable === 'boolean';
}

/** A body that is no envelope stays out: nobody knows what it holds. */
export function unreadable(reply: Response): Problem {
  const seconds = Number(reply.headers.get('retry-after') ?? Number.NaN);
  return {
    type: null,
    instance: null,
    title: 'Unreadable reply',
    status: reply.status,
    detail:
      reply.type === 'opaqueredirect' || (reply.status >= 300 && reply.status < 400)
        ? 'The reply is a redirect, which is not followed.'
        : 'The reply is not one of the deployment: something between may have made it.',
    code: 'unreadable_reply',
    retryable: [429, 502, 503, 504].includes(reply.status),
    retry_after_s: Number.isInteger(seconds) ? seconds : null,
    correlation_id: reply.headers.get('x-correlation-id') ?? '',
    errors: [],
    context: {},
  };
}
