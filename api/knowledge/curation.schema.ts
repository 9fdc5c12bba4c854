import Type from 'typebox';
import type { CurationResult } from '../../domain/knowledge/items/curation.ts';
import { maxCuratedItems } from '../../domain/knowledge/items/curation.ts';
import { knowledgeItemKinds, knowledgeOrigins, curationStates } from '../../workflows/contracts/knowledge/curation.ts';
import { closed, exactlyOneOf, idOf, integer, listOf, nullable, oneOf, stating, succession, text } from '../http/input/schema.ts';

const curation = {
  curation_state: oneOf(curationStates),
  reason: Type.Optional(nullable(text(500, { description: 'Kept in the audit log' }))),
  superseded_by_id: Type.Optional(nullable(idOf('KnowledgeItem', 'The live item of the base that replaces it; only with superseded'))),
};

export const KnowledgeItemCurate = stating(
  closed(curation, { $id: 'KnowledgeItemCurate' }),
  succession('curation_state', 'superseded_by_id'),
);

const CurationFilter = closed(
  {
    curation_state: Type.Optional(oneOf(curationStates)),
    kind: Type.Optional(oneOf(knowledgeItemKinds)),
    origin: Type.Optional(oneOf(knowledgeOrigins)),
    tag: Type.Optional(text(60, { minLength: 1 })),
    source_id: Type.Optional(idOf('Other')),
  },
  { $id: 'KnowledgeCurationFilter' },
);

export const KnowledgeItemsCurate = stating(
  closed(
    {
      item_ids: Type.Optional(listOf(idOf('KnowledgeItem'), { minItems: 1, maxItems: maxCuratedItems, uniqueItems: true })),
      filter: Type.Optional(CurationFilter),
      ...curation,
      dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Reports what would happen, and changes nothing' })),
    },
    { $id: 'KnowledgeItemsCurate' },
  ),
  { allOf: [exactlyOneOf('item_ids', 'filter'), succession('curation_state', 'superseded_by_id')] },
);

const Skipped = closed(
  { item_id: idOf('KnowledgeItem'), reason: oneOf(['illegal_transition', 'cycle']) },
  { $id: 'KnowledgeCurationSkip', description: 'An item that is left unchanged' },
);

export const KnowledgeCurationView = closed(
  {
    matched: integer(),
    changed: integer(),
    skipped: listOf(Skipped, { maxItems: maxCuratedItems }),
    dry_run: Type.Boolean(),
  },
  { $id: 'KnowledgeCurationView', description: 'The outcome for the items of a curation' },
);

/** The wire form of a curation of several items. */
export function toKnowledgeCurationView({ matched, changed, skipped }: CurationResult, isDryRun: boolean) {
  return { matched, changed, skipped: skipped.map(({ itemId, reason }) => ({ item_id: itemId, reason })), dry_run: isDryRun };
}
