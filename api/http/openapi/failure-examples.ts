import { errorCodeNames, errorCodes, type ErrorCode } from '../../../workflows/contracts/error-codes.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { toEnvelope } from '../reply/error-envelope.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import type { Json } from './schemas.ts';

const correlationId = '01960000-0000-7000-8000-000000480001';

/** What a failure says beside its code, where that tells a client what to do. */
const facts: Readonly<Partial<Record<ErrorCode, Parameters<typeof fail>[1]>>> = {
  validation_failed: {
    errors: [
      {
        in: 'body',
        pointer: '/name',
        name: 'name',
        rule: 'maxLength',
        message: 'must have at most 200 characters',
        params: { limit: 200 },
      },
    ],
  },
  state_conflict: { context: { reason: 'still_referenced' } },
  precondition_failed: { context: { etag: '"7"' } },
  rate_limited: { retryAfterS: 34, context: { violated_policies: ['principal'] } },
};

/** Name of the example of a code; OAuth clients are told it in the terms of their RFCs. */
export function failureName(code: ErrorCode, ofOauth: boolean): string {
  return ofOauth ? `oauth_${code}` : code;
}

/** An example of each code, as `fail` makes it; its summary says what a client does about it. */
export function failureExamples(publicUrl: string, oauthOperation: RegisteredOperation | null): Record<string, Json> {
  const exampleOf = (code: ErrorCode, operation: RegisteredOperation | null) => ({
    summary: errorCodes[code].remedy,
    description: errorCodes[code].when,
    value: toEnvelope(fail(code, facts[code] ?? {}), { publicUrl, correlationId, operation }),
  });
  return Object.fromEntries(
    errorCodeNames.flatMap((code) => [
      [failureName(code, false), exampleOf(code, null)],
      ...(oauthOperation ? [[failureName(code, true), exampleOf(code, oauthOperation)] as const] : []),
    ]),
  );
}
