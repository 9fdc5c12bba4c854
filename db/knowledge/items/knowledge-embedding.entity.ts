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
    /** Of the model: another one gives other numbers for the same text. */
    revision: p.text().primary(),
    /** Of the text as the model gets it, prefix and all; hex. */
    sha256: p.text().primary(),
    embedding: halfvecColumn(),
    usedAt: timeColumn(),
    createdAt: createdAtColumn(),
  },
});

/** What a model gave for a text, within one organization: embedding it again costs nothing. */
export class KnowledgeEmbedding extends schema.class {}
schema.setClass(KnowledgeEmbedding);
