import { defineEntity, p } from '@mikro-orm/core';
import { uuidColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'KnowledgeTerm',
  tableName: 'knowledge_terms',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_terms', 'child'),
  properties: {
    kbId: uuidColumn().primary(),
    /** Without the base's `lex_no`. */
    lexeme: p.text().primary(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    /** How many chunks of live items have it. */
    df: p.integer(),
  },
});

/** In how many chunks of a base a lexeme stands. Upserted in the order of the lexemes, once a transaction, so that writers never deadlock. */
export class KnowledgeTerm extends schema.class {}
schema.setClass(KnowledgeTerm);
