import Type, { type Static } from 'typebox';
import { errorCodeNames, errorCodes } from '../../workflows/contracts/error-codes.ts';
import { frameTypes } from '../../workflows/contracts/runs/frames.ts';
import { iso } from '../../db/sql.ts';
import { deprecationKinds, type Deprecation } from '../http/openapi/deprecations.ts';
import { contractVersion } from '../http/openapi/openapi.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

const JsonSchema = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description: 'JSON Schema 2020-12' });

export const ErrorCatalogueView = closed(
  {
    contract_version: oneOf([contractVersion]),
    codes: listOf(
      closed({
        code: oneOf(errorCodeNames),
        status: integer({ minimum: 400, maximum: 599 }),
        retryable: Type.Boolean({ description: 'The same request, unchanged, can succeed later' }),
        title: text(100),
        when: text(500, { description: 'When it occurs' }),
        remedy: text(500, { description: 'What to do' }),
      }),
      { maxItems: 100 },
    ),
  },
  { $id: 'ErrorCatalogueView', description: 'Every code that an error reply can contain' },
);

export const StreamProtocolView = closed(
  {
    version: integer({ minimum: 1, maximum: 1_000 }),
    heartbeat_s: integer({ minimum: 1, maximum: 600, description: 'Seconds between two heartbeats' }),
    envelope: JsonSchema,
    frames: listOf(closed({ type: oneOf(frameTypes), description: text(500), schema: JsonSchema }), { maxItems: 50 }),
    close_codes: listOf(
      closed({ code: integer({ minimum: 1_000, maximum: 4_999 }), name: text(60), retryable: Type.Boolean(), when: text(500) }),
      { maxItems: 50 },
    ),
    first_frame: JsonSchema,
    resume: closed({ header: text(60), parameter: text(60) }),
  },
  { $id: 'StreamProtocolView', description: 'The frames of a run stream and how to resume' },
);

export const DeprecationView = closed(
  {
    id: idOf('Deprecation'),
    kind: oneOf(deprecationKinds),
    operation_id: nullable(text(100)),
    component: nullable(text(100)),
    pointer: nullable(text(500, { description: 'JSON pointer into the operation or component' })),
    deprecated_at: Timestamp,
    sunset_at: Timestamp,
    replacement: nullable(text(500)),
    note: text(1_000),
  },
  { $id: 'DeprecationView', description: 'A deprecated part of the contract' },
);

export function toErrorCatalogueView(): Static<typeof ErrorCatalogueView> {
  const codes = errorCodeNames.map((code) => {
    const { status, retryable, title, when, remedy } = errorCodes[code];
    return { code, status, retryable, title, when, remedy };
  });
  return { contract_version: contractVersion, codes };
}

export function toDeprecationView(entry: Deprecation): Static<typeof DeprecationView> {
  return {
    id: entry.id,
    kind: entry.kind,
    operation_id: entry.operationId,
    component: entry.component,
    pointer: entry.pointer,
    deprecated_at: iso(entry.deprecatedAt),
    sunset_at: iso(entry.sunsetAt),
    replacement: entry.replacement,
    note: entry.note,
  };
}
