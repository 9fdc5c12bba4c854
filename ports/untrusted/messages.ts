import type { ErrorCode } from '../../workflows/contracts/error-codes.ts';
import type { FailureOptions } from '../../workflows/contracts/failure.ts';

/** What the pool sends a child: one job at a time, serialized before it was queued. */
export interface JobMessage {
  readonly sort: string;
  readonly job: Uint8Array;
}

/** The outcome of a job in the child. A failure of the catalogue is passed on as such, any other error as its message. */
export type Answer =
  | { readonly kind: 'result'; readonly bytes: Uint8Array }
  | { readonly kind: 'failure'; readonly code: ErrorCode; readonly options: FailureOptions }
  /** `isLast`: the child exits after it. */
  | { readonly kind: 'problem'; readonly message: string; readonly isLast?: boolean }
  | { readonly kind: 'too_large' };

/**
 * What a child sends: that it has loaded what the job needs (with the processor time it had used by then), or could not, which is no error of the job; and the
 * outcome of the job.
 */
export type ChildMessage =
  | { readonly kind: 'begun'; readonly cpuMs: number }
  | { readonly kind: 'unloaded'; readonly message: string }
  | Answer;

/** Maximum bytes of a result. The parent holds it, so it is bounded like everything that comes from a job. */
export const maxResultBytes = 32 * 1024 * 1024;
