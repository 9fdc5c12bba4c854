import { defineEntity, p } from '@mikro-orm/core';
import { knowledgeRunKinds } from '../../../workflows/contracts/knowledge/runs.ts';
import type { ActorRef } from '../../actor-ref.ts';
import {
  createdAtColumn,
  currencyColumn,
  decimalColumn,
  idColumn,
  jsonColumn,
  textArrayColumn,
  timeColumn,
  updatedAtColumn,
  uuidColumn,
  versionColumn,
} from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const knowledgeRunStatuses = ['queued', 'running', 'paused', 'cancelling', 'succeeded', 'failed', 'cancelled'] as const;
export type KnowledgeRunStatus = (typeof knowledgeRunStatuses)[number];
/** Statuses of runs that have not ended. */
export const liveKnowledgeRunStatuses = ['queued', 'running', 'paused', 'cancelling'] as const satisfies readonly KnowledgeRunStatus[];

/** How far a run has progressed. */
export interface KnowledgeRunProgress {
  readonly stage: string;
  readonly done: number;
  readonly total: number | null;
}

const live = `status in (${liveKnowledgeRunStatuses.map((status) => `'${status}'`).join(', ')})`;

const schema = defineEntity({
  name: 'KnowledgeRun',
  tableName: 'knowledge_runs',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_runs', 'child'),
  indexes: [
    ...tenantIndexes('knowledge_runs'),
    index('knowledge_runs', 'kb', '(kb_id, id desc)'),
    uniqueIndex('knowledge_runs', 'live_ingest', `(source_id) where kind = 'ingest' and ${live}`),
    uniqueIndex('knowledge_runs', 'live_reembed', `(kb_id) where kind = 'reembed' and ${live}`),
    index('knowledge_runs', 'target', '(target_kb_id) where target_kb_id is not null'),
    index('knowledge_runs', 'attachment', '(attachment_id) where attachment_id is not null'),
    index('knowledge_runs', 'live', `(id) where ${live}`),
  ],
  properties: {
    id: idColumn(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    kind: p.enum(knowledgeRunKinds),
    tasks: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    status: p.enum(knowledgeRunStatuses).default('queued'),
    pausedReason: p.text().strictNullable(),
    pausedAt: timeColumn().strictNullable(),
    dryRun: p.boolean().default(false),
    sourceId: uuidColumn().strictNullable(),
    /** The base that a re-embed fills. */
    targetKbId: uuidColumn().strictNullable(),
    attachmentId: uuidColumn().strictNullable(),
    /** Parameters of the request that have no column: ids, options of an import, an export or a purge. */
    params: jsonColumn<Record<string, unknown>>(() => ({})),
    progress: jsonColumn<KnowledgeRunProgress>(() => ({ stage: 'queued', done: 0, total: null })),
    counts: jsonColumn<Record<string, number>>(() => ({})),
    /** The position of its work, written together with each batch, so that any worker can continue there. Never in a view. */
    cursor: p.json<Record<string, unknown>>().strictNullable(),
    costEstimate: decimalColumn(20, 9).strictNullable(),
    costSpent: decimalColumn(20, 9).default('0'),
    currency: currencyColumn(),
    errorCount: p.integer().default(0),
    result: p.json<Record<string, unknown>>().strictNullable(),
    cutOverAt: timeColumn().strictNullable(),
    requestedBy: p.json<ActorRef>(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    startedAt: timeColumn().strictNullable(),
    finishedAt: timeColumn().strictNullable(),
  },
});

/** Durable work on a base: ingestion, re-embed, import, export, maintenance, purge. */
export class KnowledgeRun extends schema.class {}
schema.setClass(KnowledgeRun);
