import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, halfvecColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'KnowledgeEmbedding',
  tableName: 'knowledge_embedding_cache',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_embedding_cache', 'tenant', { hasWorkspace: false }),
  indexes: [index('knowledge_embedding_cache', 'used', '(used_at)')],
  properties: {
    organizationId: uuidColumn().primary(),
    model: p.text().primary(),
    /** Revision of the model: another one returns other numbers for the same text. */
    revision: p.text().primary(),
    /** SHA-256 (hex) of the text as the model receives it, including its prefix. */
    sha256: p.text().primary(),
    embedding: halfvecColumn(),
    usedAt: timeColumn(),
    createdAt: createdAtColumn(),
  },
});

/** The vector that a model computed for a text, cached within one organization: embedding the text again costs nothing. */
export class KnowledgeEmbedding extends schema.class {}
schema.setClass(KnowledgeEmbedding);
