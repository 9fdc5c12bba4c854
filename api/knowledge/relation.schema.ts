import Type from 'typebox';
import { knowledgeRelationTypes } from '../../db/knowledge/items/knowledge-relation.entity.ts';
import { relationDirections, type WalkedRelation } from '../../db/knowledge/items/relations.ts';
import { iso } from '../../db/sql.ts';
import { closed, idOf, integer, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const RelationParams = closed({ relation_id: idOf('KnowledgeRelation') });

export const KnowledgeRelationCreate = closed(
  {
    to_item_id: idOf('KnowledgeItem', 'Another live item of the same base'),
    type: oneOf(knowledgeRelationTypes),
    note: Type.Optional(nullable(text(500))),
  },
  { $id: 'KnowledgeRelationCreate' },
);

export const KnowledgeRelationView = closed(
  {
    id: idOf('KnowledgeRelation'),
    kb_id: idOf('KnowledgeBase'),
    from_item_id: idOf('KnowledgeItem'),
    to_item_id: idOf('KnowledgeItem'),
    type: oneOf(knowledgeRelationTypes),
    note: nullable(text(500)),
    depth: integer({ minimum: 1, maximum: 3, description: 'Number of relations between the item and the farther end' }),
    created_at: Timestamp,
  },
  { $id: 'KnowledgeRelationView', description: 'A directed link between two items of one base' },
);

export const RelationFilters = closed({
  direction: Type.Optional(
    oneOf(relationDirections, { default: 'both', description: 'Follow relations to the item (in), from it (out), or both' }),
  ),
  type: Type.Optional(oneOf(knowledgeRelationTypes, { description: 'Only relations of this type' })),
  depth: Type.Optional(integer({ minimum: 1, maximum: 3, default: 1, description: 'How many relations are followed from the item' })),
});

/** The wire form of a relation. */
export function toKnowledgeRelationView(row: WalkedRelation) {
  return {
    id: row.id,
    kb_id: row.kbId,
    from_item_id: row.fromItemId,
    to_item_id: row.toItemId,
    type: row.type,
    note: row.note,
    depth: row.depth,
    created_at: iso(row.createdAt),
  };
}
