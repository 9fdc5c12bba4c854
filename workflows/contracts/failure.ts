import { errorCodes, type ErrorCode } from './error-codes.ts';

/** Where in the request an entry of `errors` points. */
export type ViolationSource = 'body' | 'query' | 'path' | 'header' | 'form';

/** One entry of the envelope's `errors`: which rule was broken and where. Holds no input value. */
export interface Violation {
  readonly in: ViolationSource;
  readonly pointer: string | null;
  readonly name: string | null;
  readonly rule: string;
  readonly message: string;
  readonly params?: Record<string, unknown>;
}

export interface FailureOptions {
  /** For people, at most 500 characters; holds no input value, secret, foreign id, SQL or stack. */
  readonly detail?: string;
  /** Facts that the contract names (`reason`, `etag`, …). */
  readonly context?: Record<string, unknown>;
  /** Shorthand for `context.reason`. */
  readonly reason?: string;
  readonly errors?: readonly Violation[];
  readonly retryAfterS?: number;
  /** Further reply headers, for instance Allow. */
  readonly headers?: Record<string, string>;
  readonly cause?: unknown;
}

/** An error with one of the 38 codes. API, rules and activities all throw it. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: ErrorCode;
  readonly detail: string;
  readonly context: Record<string, unknown>;
  readonly errors: readonly Violation[];
  readonly retryAfterS: number | null;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, options: FailureOptions = {}) {
    const detail = options.detail ?? detailOf(code, options.errors ?? []);
    super(detail, { cause: options.cause });
    this.code = code;
    this.detail = detail;
    this.context = { ...(options.reason ? { reason: options.reason } : {}), ...options.context };
    this.errors = options.errors ?? [];
    this.retryAfterS = options.retryAfterS ?? null;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorCodes[this.code].status;
  }

  get retryable(): boolean {
    return errorCodes[this.code].retryable;
  }
}

/** Returns the failure to throw: `throw fail('state_conflict', { reason: 'last_owner' })`. */
export function fail(code: ErrorCode, options: FailureOptions = {}): Failure {
  return new Failure(code, options);
}

/** Returns a 422 `validation_failed` for one place in the body; `pointer` is a JSON pointer. */
export function invalid(pointer: string, rule: string, message: string, params?: Record<string, unknown>): Failure {
  return fail('validation_failed', {
    // A message that is not a whole sentence is shown after its place, in `detailOf`.
    ...(/^[A-Z].*\.$/s.test(message) ? { detail: message } : {}),
    errors: [{ in: 'body', pointer, name: null, rule, message, ...(params ? { params } : {}) }],
  });
}

/** Number of violations that a detail names; the others are in `errors` only. */
const maxNamed = 3;

/** Default text of a failure without a detail: the first violations, or else what the code means and what to do. */
function detailOf(code: ErrorCode, errors: readonly Violation[]): string {
  const { title, remedy } = errorCodes[code];
  if (errors.length === 0) return `${title}. ${remedy}`;
  const named = errors.slice(0, maxNamed).map((violation) => `${locationOf(violation)} ${violation.message}`);
  const more = errors.length - named.length;
  return `${title}: ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`;
}

function locationOf({ in: source, pointer, name }: Violation): string {
  return pointer || name || `the ${source}`;
}
