import { defineEntity, p } from '@mikro-orm/core';
import type { ExpectedCall, ItemInput } from '../../workflows/contracts/evaluations.ts';
import { createdAtColumn, idColumn, textArrayColumn, uuidColumn } from '../columns.ts';
import { tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'EvaluationItem',
  tableName: 'evaluation_items',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('evaluation_items', 'tenant'),
  indexes: [
    ...tenantIndexes('evaluation_items'),
    uniqueIndex('evaluation_items', 'item', '(evaluation_run_id, item_key)'),
    uniqueIndex('evaluation_items', 'position', '(evaluation_run_id, position)'),
  ],
  uniques: [{ name: 'evaluation_items_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    evaluationRunId: uuidColumn(),
    itemKey: p.text(),
    position: p.integer(),
    /** Over input, expected, context and tools_expected: equal questions have equal hashes. */
    contentSha256: p.text().fieldName('content_sha256'),
    input: p.json<ItemInput>(),
    expected: p.json<unknown>().strictNullable(),
    context: p.json<Record<string, unknown>>().strictNullable(),
    toolsExpected: p.json<ExpectedCall[]>().strictNullable(),
    tags: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    cluster: p.text().strictNullable(),
    /** Keys of the evaluators that judge it; null: all. */
    evaluatorKeys: textArrayColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One question of a data set, as it was when the evaluation was requested. */
export class EvaluationItem extends schema.class {}
schema.setClass(EvaluationItem);
