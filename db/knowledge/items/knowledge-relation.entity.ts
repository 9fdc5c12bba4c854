import { defineEntity, p } from '@mikro-orm/core';
import type { ActorRef } from '../../actor-ref.ts';
import { createdAtColumn, idColumn, uuidColumn } from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const knowledgeRelationTypes = [
  'related',
  'part_of',
  'derived_from',
  'supersedes',
  'contradicts',
  'duplicate_of',
  'supports',
] as const;
export type KnowledgeRelationType = (typeof knowledgeRelationTypes)[number];

const schema = defineEntity({
  name: 'KnowledgeRelation',
  tableName: 'knowledge_relations',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_relations', 'child'),
  indexes: [
    uniqueIndex('knowledge_relations', 'ends', '(from_item_id, to_item_id, type)'),
    index('knowledge_relations', 'to', '(to_item_id)'),
    index('knowledge_relations', 'kb', '(kb_id)'),
  ],
  checks: [{ name: 'knowledge_relations_ends', expression: 'from_item_id <> to_item_id' }],
  properties: {
    id: idColumn(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    fromItemId: uuidColumn(),
    toItemId: uuidColumn(),
    type: p.enum(knowledgeRelationTypes),
    note: p.text().strictNullable(),
    createdBy: p.json<ActorRef>(),
    createdAt: createdAtColumn(),
  },
});

/** A directed link between two items of one base. */
export class KnowledgeRelation extends schema.class {}
schema.setClass(KnowledgeRelation);
