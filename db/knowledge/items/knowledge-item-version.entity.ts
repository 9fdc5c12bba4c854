import { defineEntity, p } from '@mikro-orm/core';
import type { ActorRef } from '../../actor-ref.ts';
import { createdAtColumn, jsonColumn, textArrayColumn, uuidColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';
import type { KnowledgeMetadata } from './knowledge-item.entity.ts';

const schema = defineEntity({
  name: 'KnowledgeItemVersion',
  tableName: 'knowledge_item_versions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_item_versions', 'child'),
  properties: {
    itemId: uuidColumn().primary(),
    version: p.integer().primary(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    title: p.text().strictNullable(),
    content: p.text(),
    contentHash: p.text(),
    metadata: jsonColumn<KnowledgeMetadata>(() => ({})),
    tags: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    actor: p.json<ActorRef>(),
    reason: p.text().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One version of an item's content, past or current. Never changed. */
export class KnowledgeItemVersion extends schema.class {}
schema.setClass(KnowledgeItemVersion);
