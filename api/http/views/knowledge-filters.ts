import Type, { type Static } from 'typebox';
import { curationStates, knowledgeItemKinds, knowledgeOrigins } from '../../../workflows/contracts/knowledge/curation.ts';
import { closed, idOf, listOf, oneOf, text, Timestamp } from '../input/schema.ts';

const maxFilterValues = 50;

const Scalar = Type.Unsafe<string | number | boolean | null>({ type: ['string', 'number', 'boolean', 'null'], maxLength: 2_000 });
const MetadataFilter = Type.Unsafe<Record<string, Static<typeof Scalar>>>({
  type: 'object',
  additionalProperties: Scalar,
  propertyNames: { type: 'string', minLength: 1, maxLength: 120 },
  maxProperties: 10,
  description: 'Metadata values that must all match',
});

/** Shared by searches and by the golden queries of maintenance. */
export const KnowledgeSearchFilters = closed(
  {
    kinds: Type.Optional(listOf(oneOf(knowledgeItemKinds), { maxItems: maxFilterValues })),
    tags_any: Type.Optional(listOf(text(60, { minLength: 1 }), { maxItems: maxFilterValues, description: 'At least one of them' })),
    tags_all: Type.Optional(listOf(text(60, { minLength: 1 }), { maxItems: maxFilterValues, description: 'Each of them' })),
    source_ids: Type.Optional(listOf(idOf('KnowledgeSource'), { maxItems: maxFilterValues })),
    origins: Type.Optional(listOf(oneOf(knowledgeOrigins), { maxItems: maxFilterValues })),
    curation_states: Type.Optional(
      listOf(oneOf(curationStates), {
        maxItems: maxFilterValues,
        description: 'Retired items are only found if they are named here; superseded ones also require latest_only false',
      }),
    ),
    metadata: Type.Optional(MetadataFilter),
    created_from: Type.Optional(Timestamp),
    created_to: Type.Optional(Timestamp),
  },
  {
    $id: 'KnowledgeSearchFilters',
    description: 'Which items a search can find; all conditions must hold, and an empty list does not filter',
  },
);
