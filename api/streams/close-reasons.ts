import type { ErrorCode } from '../../workflows/contracts/error-codes.ts';

/** Every way in which the server ends a stream: the WebSocket's close code, its name, and whether reconnecting helps. */
export const closeCodes = {
  finished: { code: 1000, retryable: false, when: 'after run.finished, or when there is nothing more to send' },
  too_big: { code: 1009, retryable: false, when: 'a client message above 64 KiB' },
  internal: { code: 1011, retryable: true, when: 'an unexpected error' },
  draining: { code: 1012, retryable: true, when: 'the process is shutting down' },
  max_age: { code: 4000, retryable: true, when: 'one hour after opening' },
  slow_consumer: { code: 4008, retryable: true, when: 'no progress for 30 s with 256 KiB unsent' },
  bad_first_frame: { code: 4400, retryable: false, when: 'the first message is not an auth frame, or is above 4 KiB' },
  token_invalid: {
    code: 4401,
    retryable: false,
    when: 'the token is unknown, expired or for another run, or access has been lost since; create a new token',
  },
  not_found: { code: 4404, retryable: false, when: 'the run was purged or is not visible' },
  no_first_frame: { code: 4408, retryable: true, when: 'no first message within 5 s' },
  token_used: { code: 4409, retryable: false, when: 'the token has already been used; create a new token' },
  cursor_invalid: { code: 4422, retryable: false, when: 'after_seq is ahead of the run' },
  too_many_streams: { code: 4429, retryable: true, when: 'this principal or process has too many streams' },
  unavailable: { code: 4503, retryable: true, when: 'the database cannot be reached' },
} as const satisfies Record<string, { code: number; retryable: boolean; when: string }>;

export type CloseName = keyof typeof closeCodes;

/** Returns the close reason that corresponds to an error code. */
export function closeOf(code: ErrorCode): CloseName {
  switch (code) {
    case 'stream_token_used':
      return 'token_used';
    case 'not_found':
      return 'not_found';
    case 'cursor_invalid':
      return 'cursor_invalid';
    case 'rate_limited':
      return 'too_many_streams';
    case 'service_unavailable':
      return 'unavailable';
    case 'internal_error':
      return 'internal';
    case 'malformed_request':
    case 'validation_failed':
      return 'bad_first_frame';
    default:
      return 'token_invalid';
  }
}
