import { defineEntity, p } from '@mikro-orm/core';
import type { StoredEvaluator, EvaluationSettings } from '../../workflows/contracts/evaluations.ts';
import { createdAtColumn, idColumn, timeColumn, uuidColumn, versionColumn } from '../columns.ts';
import { index, tenantIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const evaluationStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type EvaluationStatus = (typeof evaluationStatuses)[number];

const schema = defineEntity({
  name: 'EvaluationRun',
  tableName: 'evaluation_runs',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('evaluation_runs', 'tenant'),
  indexes: [
    ...tenantIndexes('evaluation_runs'),
    index('evaluation_runs', 'workspace', '(workspace_id, id desc)'),
    index('evaluation_runs', 'agent', '(agent_id, id desc)'),
    index('evaluation_runs', 'status', '(workspace_id, status, id desc)'),
    index('evaluation_runs', 'live', '(id) where finished_at is null'),
  ],
  uniques: [{ name: 'evaluation_runs_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [
    { name: 'evaluation_runs_finished_at', expression: "(status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)" },
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    agentId: uuidColumn(),
    /** Pinned when the evaluation was requested. */
    agentRevisionId: uuidColumn(),
    datasetName: p.text().strictNullable(),
    /** Over the keys and hashes of the items, in order. */
    datasetSha256: p.text().fieldName('dataset_sha256'),
    evaluators: p.json<StoredEvaluator[]>(),
    settings: p.json<EvaluationSettings>(),
    /** The evaluation that it is compared with. */
    baselineId: uuidColumn().strictNullable(),
    status: p.enum(evaluationStatuses).default('queued'),
    /** The numbers over results that have ended, in their wire form. */
    summary: p.json<Record<string, unknown>>(),
    /** Set when it is known that it will fail; the status follows when all its results have ended. */
    failureCode: p.text().strictNullable(),
    cancelRequestedAt: timeColumn().strictNullable(),
    createdByUserId: uuidColumn().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    startedAt: timeColumn().strictNullable(),
    finishedAt: timeColumn().strictNullable(),
  },
});

/** An agent measured against a data set. */
export class EvaluationRun extends schema.class {}
schema.setClass(EvaluationRun);
