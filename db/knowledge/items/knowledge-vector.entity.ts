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
    /** The item of the chunk, which never changes: a search spares looking the chunk up. Null in rows of an earlier release. */
    itemId: uuidColumn().strictNullable(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    embeddingModel: p.text(),
    embeddingDim: p.integer(),
    /** `STORAGE PLAIN`: never in TOAST, so that an exact scan reads the table alone. */
    embedding: halfvecColumn(),
    createdAt: createdAtColumn(),
  },
});

/** The embedding of a chunk, by the model of its base. */
export class KnowledgeVector extends schema.class {}
schema.setClass(KnowledgeVector);
