import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, decimalColumn, idColumn, jsonColumn, uuidColumn } from '../columns.ts';
import { tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const scoreStates = ['done', 'error', 'skipped'] as const;
export type ScoreState = (typeof scoreStates)[number];

const schema = defineEntity({
  name: 'EvaluationScore',
  tableName: 'evaluation_scores',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('evaluation_scores', 'tenant'),
  indexes: [...tenantIndexes('evaluation_scores'), uniqueIndex('evaluation_scores', 'evaluator', '(result_id, evaluator_key)')],
  checks: [{ name: 'evaluation_scores_range', expression: 'score >= 0 and score <= 1' }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    resultId: uuidColumn(),
    evaluatorKey: p.text(),
    state: p.enum(scoreStates),
    score: decimalColumn(7, 6).strictNullable(),
    passed: p.boolean().strictNullable(),
    reason: p.text().strictNullable(),
    errorCode: p.text().strictNullable(),
    details: jsonColumn<Record<string, unknown>>(() => ({})),
    createdAt: createdAtColumn(),
  },
});

/** The score that one evaluator gave one result. */
export class EvaluationScore extends schema.class {}
schema.setClass(EvaluationScore);
