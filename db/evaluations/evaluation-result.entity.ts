import { defineEntity, p } from '@mikro-orm/core';
import type { KeyedBill } from '../billing/ledger/call-bill.ts';
import { createdAtColumn, decimalColumn, idColumn, jsonColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const resultStatuses = ['pending', 'running', 'scoring', 'passed', 'failed', 'error', 'skipped'] as const;

/** A vote of a judge as it is stored. */
export interface StoredVote {
  readonly value: unknown;
  readonly raw: string;
}

/** A requested vote: what its bill needs in case the worker is lost. */
export interface AskedVote {
  readonly asked: KeyedBill;
}

const schema = defineEntity({
  name: 'EvaluationResult',
  tableName: 'evaluation_results',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('evaluation_results', 'tenant'),
  indexes: [
    ...tenantIndexes('evaluation_results'),
    uniqueIndex('evaluation_results', 'repetition', '(evaluation_run_id, item_id, repetition)'),
    index('evaluation_results', 'status', '(evaluation_run_id, status, id)'),
    uniqueIndex('evaluation_results', 'run', '(run_id) where run_id is not null'),
  ],
  uniques: [{ name: 'evaluation_results_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [
    {
      name: 'evaluation_results_finished_at',
      expression: "(status in ('passed', 'failed', 'error', 'skipped')) = (finished_at is not null)",
    },
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    evaluationRunId: uuidColumn(),
    itemId: uuidColumn(),
    repetition: p.integer(),
    runId: uuidColumn().strictNullable(),
    status: p.enum(resultStatuses).default('pending'),
    score: decimalColumn(7, 6).strictNullable(),
    reason: p.text().strictNullable(),
    latencyMs: p.integer().strictNullable(),
    cost: decimalColumn(20, 9).strictNullable(),
    tokens: p.json<{ readonly input: number; readonly output: number }>().strictNullable(),
    turns: p.integer().strictNullable(),
    /** How often scoring it has begun. */
    attempts: p.integer().default(0),
    /** Answers of judges, by evaluator and vote, until all scores are written: none is asked for twice. */
    votes: jsonColumn<Readonly<Record<string, StoredVote | AskedVote>>>(() => ({})),
    createdAt: createdAtColumn(),
    finishedAt: timeColumn().strictNullable(),
  },
});

/** The result of one repetition of an item. */
export class EvaluationResult extends schema.class {}
schema.setClass(EvaluationResult);
