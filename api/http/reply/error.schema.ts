import Type, { type Static } from 'typebox';
import { errorCodeNames } from '../../../workflows/contracts/error-codes.ts';
import { closed, integer, listOf, nullable, oneOf } from '../input/schema.ts';

/** Named, as everything in the document that code generators make a type of: two inline objects of one name stop some of them. */
const ViolationParams = Type.Unsafe<Record<string, unknown>>({
  $id: 'ViolationParams',
  type: 'object',
  additionalProperties: true,
  description: 'Limits and allowed values',
});

const ErrorContext = Type.Unsafe<Record<string, unknown>>({
  $id: 'ErrorContext',
  type: 'object',
  additionalProperties: true,
  description: 'Details by name, for example reason, etag, violated_policies',
});

const ViolationView = closed(
  {
    in: oneOf(['body', 'query', 'path', 'header', 'form']),
    pointer: nullable(Type.String({ maxLength: 2_000, description: 'JSON pointer into the body' })),
    name: nullable(Type.String({ maxLength: 200, description: 'Name of the parameter or header' })),
    rule: Type.String({
      maxLength: 60,
      description:
        'JSON Schema keyword, or unknown_parameter, unknown_field, duplicate_parameter, invalid_text, max_depth, reference, range, egress',
    }),
    message: Type.String({ maxLength: 500 }),
    params: Type.Optional(ViolationParams),
  },
  { $id: 'Violation', description: 'One rule that a request violated, and where' },
);

const fields = {
  type: Type.String({ maxLength: 400, description: 'URL of the code in the catalogue' }),
  title: Type.String({ maxLength: 100, description: 'Fixed by the code' }),
  status: integer({ minimum: 400, maximum: 599, description: 'Fixed by the code' }),
  detail: Type.String({ maxLength: 500, description: 'For people' }),
  instance: Type.String({ maxLength: 60, description: 'urn:uuid of the correlation id' }),
  code: oneOf(errorCodeNames, { description: 'One of the 38 codes' }),
  retryable: Type.Boolean({ description: 'The same request, unchanged, can succeed later' }),
  retry_after_s: nullable(integer({ maximum: 86_400, description: 'Equals Retry-After' })),
  correlation_id: Type.String({ format: 'uuid', description: 'Equals X-Correlation-Id' }),
  errors: listOf(ViolationView, { maxItems: 50, description: 'What was wrong with the request, sorted by location' }),
  context: ErrorContext,
};

/** Body of every failing reply (RFC 9457). */
export const ErrorEnvelope = closed(
  {
    ...fields,
    error: Type.Optional(Type.String({ maxLength: 100, description: 'OAuth operations only: the code of the RFC' })),
    error_description: Type.Optional(Type.String({ maxLength: 500, description: 'OAuth operations only' })),
  },
  { $id: 'ErrorEnvelope', description: 'Body of every failing reply' },
);
export type ErrorEnvelopeView = Static<typeof ErrorEnvelope>;

/** The envelope as OAuth clients read it (RFC 6749 §5.2, RFC 7591 §3.2.2). */
export const OauthErrorEnvelope = closed(
  {
    ...fields,
    error: Type.String({ maxLength: 100, description: 'The code of the RFC' }),
    error_description: Type.String({ maxLength: 500, description: 'For developers, in ASCII' }),
  },
  { $id: 'OauthErrorEnvelope', description: 'Body of a failing reply to an OAuth client: the error envelope with the fields of its RFC' },
);

/** What a 422 is declared as: the same envelope. */
export const HTTPValidationError = Type.Unsafe<ErrorEnvelopeView>({
  $id: 'HTTPValidationError',
  description: 'The error envelope with status 422',
  allOf: [ErrorEnvelope],
  properties: { status: { const: 422 } },
});
