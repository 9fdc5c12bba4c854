import Type, { type Static } from 'typebox';
import { LimitsEntry, toLimits, type RateLimits } from './limits.ts';

/** One embedding model of a registry file (`"kind": "embedding"`). */
export interface EmbeddingEntry {
  readonly id: string;
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly name: string;
  readonly dim: number;
  readonly maxTokens: number;
  /** Text that precedes the input; empty for most models. */
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  /** Path of a `tokenizer.json` (Hugging Face); null: tokens are counted with the cl100k_base vocabulary. */
  readonly tokenizer: string | null;
  readonly fusionWeight: number;
  readonly revision: string;
  readonly isFree: boolean;
  readonly maxBatch: number;
  /** Whether the request states the number of dimensions; only some models accept that. */
  readonly sendsDimensions: boolean;
  /** Its own, beside those of its provider; null: none. */
  readonly ownLimits: RateLimits | null;
}

/** Maximum dimensions of a vector in the database and its index. */
const maxDimensions = 3_072;
const Prefix = Type.Optional(Type.String({ maxLength: 500 }));

/** An embedding model as a registry file writes it. */
export const EmbeddingModelEntry = Type.Object(
  {
    kind: Type.Literal('embedding'),
    id: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
    provider: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,39}$' }),
    name: Type.String({ minLength: 1, maxLength: 80 }),
    dim: Type.Integer({ minimum: 1, maximum: maxDimensions }),
    max_tokens: Type.Integer({ minimum: 16, maximum: 1_000_000 }),
    query_prefix: Prefix,
    document_prefix: Prefix,
    tokenizer: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
    fusion_weight: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    revision: Type.Optional(Type.String({ minLength: 1, maxLength: 60 })),
    free: Type.Optional(Type.Boolean()),
    max_batch: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_048 })),
    send_dimensions: Type.Optional(Type.Boolean()),
    limits: Type.Optional(LimitsEntry),
  },
  { additionalProperties: false },
);

/** An entry of a registry file with its defaults. */
export function toEmbeddingEntry(entry: Static<typeof EmbeddingModelEntry>): EmbeddingEntry {
  return {
    id: entry.id ?? `${entry.provider}/${entry.name}`,
    provider: entry.provider,
    name: entry.name,
    dim: entry.dim,
    maxTokens: entry.max_tokens,
    queryPrefix: entry.query_prefix ?? '',
    documentPrefix: entry.document_prefix ?? '',
    tokenizer: entry.tokenizer ?? null,
    fusionWeight: entry.fusion_weight ?? 1,
    revision: entry.revision ?? '1',
    isFree: entry.free ?? false,
    maxBatch: entry.max_batch ?? 64,
    sendsDimensions: entry.send_dimensions ?? false,
    ownLimits: toLimits(entry.limits),
  };
}
