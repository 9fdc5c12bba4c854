import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, jsonColumn, uuidColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

/** The subject of an error; `line` from 1, `offset` in bytes. */
export interface KnowledgeErrorIds {
  readonly item_id?: string;
  readonly chunk_ord?: number;
  readonly source_id?: string;
  readonly line?: number;
  readonly offset?: number;
}

const schema = defineEntity({
  name: 'KnowledgeRunError',
  tableName: 'knowledge_run_errors',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_run_errors', 'child'),
  properties: {
    runId: uuidColumn().primary(),
    ord: p.integer().primary(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    stage: p.text(),
    ids: jsonColumn<KnowledgeErrorIds>(() => ({})),
    code: p.text(),
    detail: p.text(),
    createdAt: createdAtColumn(),
  },
});

/** An error of a run: something that it could not do. */
export class KnowledgeRunError extends schema.class {}
schema.setClass(KnowledgeRunError);
