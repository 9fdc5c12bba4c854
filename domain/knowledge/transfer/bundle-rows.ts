import Type, { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { knowledgeAccesses, knowledgePrincipalKinds } from '../../../db/knowledge/bases/knowledge-grant.entity.ts';
import { knowledgeEvidenceKinds, knowledgeTrusts } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import { knowledgeItemKinds, knowledgeOrigins, curationStates } from '../../../workflows/contracts/knowledge/curation.ts';
import { knowledgeRelationTypes } from '../../../db/knowledge/items/knowledge-relation.entity.ts';
import { knowledgeSubjectKinds } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import { knowledgeSourceKinds } from '../../../db/knowledge/sources/knowledge-source.entity.ts';
import type { BundleRecord } from '../../../ports/parsing/knowledge-bundle.ts';
import { roles } from '../../../workflows/contracts/access.ts';

const text = (maxLength: number, minLength = 0) => Type.String({ maxLength, minLength });
const oneOf = <const V extends readonly string[]>(values: V) => Type.Unsafe<V[number]>({ type: 'string', enum: [...values] });
const nullable = <T extends TSchema>(type: T) => Type.Optional(Type.Union([type, Type.Null()]));
const Id = text(100, 1);
const Time = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$' });
const Tags = Type.Optional(Type.Array(text(60, 1), { maxItems: 30 }));
const Metadata = Type.Optional(Type.Record(Type.String(), Type.Unknown()));
const subject = { subject_kind: nullable(oneOf(knowledgeSubjectKinds)), subject_id: nullable(text(200, 1)) };
const Evidence = Type.Object({
  kind: oneOf(knowledgeEvidenceKinds),
  ref: text(2_000, 1),
  quote: nullable(text(1_000)),
  observed_at: nullable(Time),
  ...subject,
});
const Fact = Type.Object({ subject: text(200, 1), relation: text(200, 1), object: text(200, 1) });

const Source = Type.Object({
  type: Type.Literal('source'),
  id: Id,
  kind: oneOf(knowledgeSourceKinds),
  title: nullable(text(300)),
  uri: nullable(text(2_000)),
  text: nullable(text(1_000_000)),
  item_kind: Type.Optional(oneOf(knowledgeItemKinds)),
  tags: Tags,
  metadata: Metadata,
  media_type: nullable(text(200)),
  content_hash: nullable(text(64)),
});
/** The fields of an item in a file, beside its text. */
export const itemFields = {
  external_id: nullable(text(200, 1)),
  kind: Type.Optional(oneOf(knowledgeItemKinds)),
  tags: Tags,
  metadata: Metadata,
  fact: nullable(Fact),
  evidence: Type.Optional(Type.Array(Evidence, { maxItems: 50 })),
  valid_from: nullable(Time),
  valid_until: nullable(Time),
  observed_at: nullable(Time),
};
const Item = Type.Object({
  type: Type.Literal('item'),
  id: Type.Optional(Id),
  source_id: nullable(Id),
  title: nullable(text(300)),
  content: text(200_000, 1),
  ...itemFields,
  pages: nullable(
    Type.Array(Type.Object({ page: Type.Integer({ minimum: 1 }), start: Type.Integer({ minimum: 0, maximum: 200_000 }) }), {
      maxItems: 5_000,
    }),
  ),
  origin: Type.Optional(oneOf(knowledgeOrigins)),
  trust: Type.Optional(oneOf(knowledgeTrusts)),
  curation_state: Type.Optional(oneOf(curationStates)),
  superseded_by_id: nullable(Id),
});
const Vectors = Type.Object({
  type: Type.Literal('vectors'),
  item_id: Id,
  model: text(120),
  chunks: Type.Array(
    Type.Object({ ord: Type.Integer(), content_hash: text(64), embedding: Type.Array(Type.Number(), { maxItems: 3_072 }) }),
    { maxItems: 10_000 },
  ),
});
const Relation = Type.Object({
  type: Type.Literal('relation'),
  from_item_id: Id,
  to_item_id: Id,
  relation: oneOf(knowledgeRelationTypes),
  note: nullable(text(500)),
});
const Grant = Type.Object({
  type: Type.Literal('grant'),
  principal_kind: oneOf(knowledgePrincipalKinds),
  principal_id: nullable(Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })),
  role: nullable(oneOf(roles)),
  access: oneOf(knowledgeAccesses),
  expires_at: nullable(Time),
});

export type BundleSource = Static<typeof Source>;
export type BundleItem = Static<typeof Item>;
export type BundleVectors = Static<typeof Vectors>;
export type BundleRelation = Static<typeof Relation>;
export type BundleGrant = Static<typeof Grant>;
export type BundleRow = BundleSource | BundleItem | BundleVectors | BundleRelation | BundleGrant;

const forms = {
  source: Compile(Source),
  item: Compile(Item),
  vectors: Compile(Vectors),
  relation: Compile(Relation),
  grant: Compile(Grant),
};

/** What is wrong with a line: a code, and a message without the line's contents. */
export interface RowFault {
  readonly code: 'bad_json' | 'unknown_type' | 'bad_field' | 'bad_text';
  readonly detail: string;
}

/** Returns the row of a line, or what is wrong with it. Ignores unknown members. */
export function toBundleRow(record: BundleRecord | null): BundleRow | RowFault {
  if (record === null) return { code: 'bad_json', detail: 'The line is not a UTF-8 JSON object with a type.' };
  const { type } = record;
  if (type !== 'source' && type !== 'item' && type !== 'vectors' && type !== 'relation' && type !== 'grant')
    return { code: 'unknown_type', detail: 'The type of the line is not one that a bundle can contain.' };
  if (!isClean(record)) return { code: 'bad_text', detail: 'A text contains U+0000 or a lone surrogate.' };
  const form = forms[type];
  if (form.Check(record)) return record as BundleRow; // the form of its type
  const [fault] = form.Errors(record);
  return { code: 'bad_field', detail: `${fault?.instancePath ?? ''} ${fault?.message ?? 'has another form'}`.trim().slice(0, 300) };
}

/** PostgreSQL stores neither U+0000 nor half a surrogate pair. */
function isClean(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => isClean(name) && isClean(member));
}

export function isFault(row: BundleRow | RowFault): row is RowFault {
  return 'code' in row;
}
