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
    /** Without the base's `lex_no` prefix. */
    lexeme: p.text().primary(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    /** Number of chunks of live items that contain it. */
    df: p.integer(),
  },
});

/** The number of chunks of a base that contain a lexeme. Upserted in the order of the lexemes, once per transaction, so that writers never deadlock. */
export class KnowledgeTerm extends schema.class {}
schema.setClass(KnowledgeTerm);
