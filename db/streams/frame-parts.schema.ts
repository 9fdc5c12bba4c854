import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';
import { errorCodeNames } from '../../workflows/contracts/error-codes.ts';
import { runStatuses } from '../../workflows/contracts/runs/runs.ts';

// Frame objects are open: readers ignore unknown fields, so a new field needs no new protocol.

export const Id = Type.String({ format: 'uuid' });
export const Instant = Type.String({ format: 'date-time' });
export const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
export const FreeJson = Type.Unsafe<unknown>({});
export const FreeObject = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true });
export const RunStatusName = choice(runStatuses);
export const ErrorCodeName = choice(errorCodeNames);
export const Sha256 = Type.String({ maxLength: 64, description: 'SHA-256 of the canonical JSON (RFC 8785), hexadecimal.' });

/** A bounded string. */
export function line(maxLength: number, description?: string) {
  return Type.String({ maxLength, ...(description ? { description } : {}) });
}

/** A closed set of strings. */
export function choice<const V extends readonly string[]>(values: V, description?: string) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: values, ...(description ? { description } : {}) });
}

/** The schema, or null. */
export function orNull<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  return Type.Unsafe<Static<S> | null>({ oneOf: [schema, { type: 'null' }] });
}

export const RunLimitsPart = Type.Object({
  max_steps: Whole,
  max_duration_s: Whole,
  max_output_tokens: orNull(Whole),
  max_cost: orNull(line(40)),
  max_children: Whole,
  max_depth: Whole,
  approval_ttl_s: Whole,
  on_expiry: choice(['deny', 'fail']),
  on_budget: choice(['fail', 'wait']),
});

export const TokenCounts = Type.Object({ input: Whole, output: Whole, cached_read: Whole, cached_write: Whole, reasoning: Whole });

export const UsageTotalsPart = Type.Object({
  model_calls: Whole,
  tokens: TokenCounts,
  cost_amount: line(40),
  currency: line(3),
  estimated: Type.Boolean(),
});

const attachmentPart = { attachment_id: Id, media_type: line(200), name: line(400), bytes: Whole };

export const ContentBlockPart = Type.Unsafe<ContentBlock>({
  oneOf: [
    Type.Object({ type: choice(['text', 'reasoning_summary', 'refusal']), text: Type.String() }),
    Type.Object({ type: choice(['json']), value: FreeJson }),
    Type.Object({ type: choice(['citation']), item_id: orNull(Id), title: line(400), quote: line(4_000), url: orNull(line(2_048)) }),
    Type.Object({ type: choice(['attachment']), ...attachmentPart }),
  ],
});

/** One block of a message, as in MessageView. */
export type ContentBlock =
  | { type: 'text' | 'reasoning_summary' | 'refusal'; text: string }
  | { type: 'json'; value: unknown }
  | { type: 'citation'; item_id: string | null; title: string; quote: string; url: string | null }
  | ({ type: 'attachment' } & AttachmentPart);

/** A file as messages and outputs reference it. */
export type AttachmentPart = {
  readonly attachment_id: string;
  readonly media_type: string;
  readonly name: string;
  readonly bytes: number;
};

export const RunErrorPart = Type.Object({
  code: ErrorCodeName,
  message: line(1_000),
  retryable: Type.Boolean(),
  reason: orNull(line(120)),
});

export const RunOutputPart = Type.Object({
  text: orNull(Type.String()),
  json: FreeJson, // includes null; a oneOf with null would match it twice
  attachments: Type.Array(Type.Object(attachmentPart), { maxItems: 200 }),
  truncated: Type.Boolean(),
});
