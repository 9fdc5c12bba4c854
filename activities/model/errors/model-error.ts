import type { ModelFault } from '../../../ports/metrics/activity-metrics.ts';
import type { TokenUsage } from '../usage/usage.ts';

/** Classes of a failed model call, by the table of signals in the design of the model step. */
export const modelErrorClasses = [
  'RateLimited',
  'Unavailable',
  'Unreachable',
  'StreamCut',
  'StreamIdle',
  'AuthRefused',
  'Rejected',
  'ContentRefused',
  'ContextTooLong',
] as const;
export type ModelErrorClass = (typeof modelErrorClasses)[number];

const retryableClasses: ReadonlySet<ModelErrorClass> = new Set(['RateLimited', 'Unavailable', 'Unreachable', 'StreamCut', 'StreamIdle']);

export interface ModelErrorFacts {
  /** For humans, at most 500 characters, redacted: holds no prompt, key or address. */
  readonly message: string;
  /** Set only where the provider contradicts the class (x-should-retry). */
  readonly retryable?: boolean;
  readonly retryAfterMs?: number | null;
  readonly status?: number | null;
  readonly providerCode?: string | null;
  readonly providerRequestId?: string | null;
  readonly usage?: TokenUsage | null;
}

/**
 * A model call that failed. Nothing of the provider's own error object is kept, not even as `cause`: those objects carry the prompt. `usage` is null when
 * nothing can have been billed; otherwise the call is settled with it.
 */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly class: ModelErrorClass;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly status: number | null;
  readonly providerCode: string | null;
  readonly providerRequestId: string | null;
  readonly usage: TokenUsage | null;

  constructor(errorClass: ModelErrorClass, facts: ModelErrorFacts) {
    super(facts.message);
    this.class = errorClass;
    this.retryable = facts.retryable ?? retryableClasses.has(errorClass);
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.status = facts.status ?? null;
    this.providerCode = facts.providerCode ?? null;
    this.providerRequestId = facts.providerRequestId ?? null;
    this.usage = facts.usage ?? null;
  }
}

/** Whether the same run, unchanged, can succeed later: never where the provider refuses the request, its key or its model. */
export function isWorthAnotherRun({ retryable, status }: ModelError): boolean {
  return retryable && (status === null || ![400, 401, 403, 404].includes(status));
}

/** The caller's own signal ended the call. `usage` is the estimate of what was used by then. `cause` is the signal's reason. */
export class ModelAborted extends Error {
  override readonly name = 'ModelAborted';
  readonly usage: TokenUsage;

  constructor(usage: TokenUsage, reason: unknown) {
    super('model call aborted', { cause: reason });
    this.usage = usage;
  }
}

/** Returns the retry cause of this class for a run.status frame. */
export function retryCauseOf(errorClass: ModelErrorClass): 'rate_limited' | 'timeout' | 'upstream_error' {
  if (errorClass === 'RateLimited') return 'rate_limited';
  if (errorClass === 'StreamIdle') return 'timeout';
  return 'upstream_error';
}

/** Returns the name of a class in steps, failures and metrics. */
export function reasonOf(errorClass: ModelErrorClass): ModelFault {
  switch (errorClass) {
    case 'RateLimited':
      return 'rate_limited';
    case 'Unavailable':
      return 'unavailable';
    case 'Unreachable':
      return 'unreachable';
    case 'StreamCut':
      return 'stream_cut';
    case 'StreamIdle':
      return 'stream_idle';
    case 'AuthRefused':
      return 'auth_refused';
    case 'Rejected':
      return 'rejected';
    case 'ContentRefused':
      return 'content_refused';
    case 'ContextTooLong':
      return 'context_too_long';
    default:
      return errorClass satisfies never;
  }
}
