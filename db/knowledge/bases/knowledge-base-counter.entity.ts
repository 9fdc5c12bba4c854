import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, uuidColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

const counts = ['pending', 'reviewed', 'promoted', 'superseded', 'retired', 'chunks', 'tokens', 'lex_len'];

const schema = defineEntity({
  name: 'KnowledgeBaseCounter',
  tableName: 'knowledge_base_counters',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_base_counters', 'child'),
  checks: [
    {
      name: 'knowledge_base_counters_counts',
      expression: counts.map((column) => `${column} >= 0`).join(' and '),
    },
  ],
  properties: {
    kbId: uuidColumn().primary(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    /** Live items by curation state; their sum is the base's `item_count`. */
    pending: p.integer().default(0),
    reviewed: p.integer().default(0),
    promoted: p.integer().default(0),
    superseded: p.integer().default(0),
    retired: p.integer().default(0),
    /** Chunks of live items, like all counts here. */
    chunks: p.integer().default(0),
    tokens: bigintColumn().default(0),
    /** Lexemes of all chunks, with repetitions: BM25 derives the mean length from it. */
    lexLen: bigintColumn().default(0),
  },
});

/** Counters of a base. A transaction writes them last, so that writers block each other only briefly. */
export class KnowledgeBaseCounter extends schema.class {}
schema.setClass(KnowledgeBaseCounter);
