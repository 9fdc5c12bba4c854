import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, halfvecColumn, uuidColumn } from '../../columns.ts';
import { index } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'KnowledgeVector',
  tableName: 'knowledge_vectors',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_vectors', 'child'),
  indexes: [index('knowledge_vectors', 'kb', '(kb_id)')],
  checks: [{ name: 'knowledge_vectors_dim', expression: 'vector_dims(embedding) = embedding_dim' }],
  properties: {
    chunkId: uuidColumn().primary(),
    /** The item of the chunk, which never changes; it saves a search the lookup of the chunk. Null in rows of an earlier release. */
    itemId: uuidColumn().strictNullable(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    embeddingModel: p.text(),
    embeddingDim: p.integer(),
    /** `STORAGE PLAIN`: never in TOAST, so an exact scan reads only the table. */
    embedding: halfvecColumn(),
    createdAt: createdAtColumn(),
  },
});

/** The embedding of a chunk, by the model of its base. */
export class KnowledgeVector extends schema.class {}
schema.setClass(KnowledgeVector);
