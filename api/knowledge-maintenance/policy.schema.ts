import Type, { type Static } from 'typebox';
import { defaultPolicy, type PolicyFields, type PolicyRow } from '../../db/knowledge/bases/maintained-base.ts';
import { iso } from '../../db/sql.ts';
import { maintenanceTasks, type MaintenanceTask } from '../../domain/knowledge/upkeep/maintenance.ts';
import { KnowledgeSearchFilters } from '../http/views/knowledge-filters.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const PolicyParams = closed({ kb_id: idOf('KnowledgeBase', 'The base') });

const Decay = closed(
  {
    enabled: Type.Boolean(),
    half_life_days: integer({ minimum: 1, maximum: 3_650 }),
    floor: Type.Number({ minimum: 0, maximum: 1, description: 'The lowest factor by which a score is multiplied' }),
  },
  { $id: 'KnowledgeDecay', description: 'How scores of items decay with the time since their last use' },
);

const Golden = closed(
  {
    query: text(400, { minLength: 1 }),
    relevant: listOf(text(200, { minLength: 1 }), {
      minItems: 1,
      maxItems: 20,
      description: 'External ids or ids of the items that answer it',
    }),
    filters: Type.Optional(KnowledgeSearchFilters),
  },
  { $id: 'KnowledgeGoldenQuery', description: 'A question with known answers' },
);

const fields = {
  schedule: nullable(text(120, { description: 'Cron expression; null: runs only start on request' })),
  timezone: text(60, { description: 'IANA' }),
  tasks: listOf(oneOf(maintenanceTasks), { maxItems: 7, uniqueItems: true }),
  duplicate_threshold: Type.Number({ minimum: 0.5, maximum: 1, description: 'The similarity from which two items are duplicates' }),
  auto_merge: Type.Boolean({ description: 'Whether runs merge duplicates without a person' }),
  stale_after_days: integer({ minimum: 1, maximum: 3_650 }),
  retention_days: integer({ minimum: 1, maximum: 3_650, description: 'How long a deleted item can be restored and a resolution undone' }),
  max_pause_hours: integer({ minimum: 1, maximum: 168, description: 'A run that waits longer for a budget is cancelled' }),
  judge_model: nullable(text(120, { description: 'The chat model used by contradictions and consolidate' })),
  decay: Decay,
  allow_missing_embeddings: Type.Boolean(),
  golden_queries: listOf(Golden, { maxItems: 500 }),
};

export const MaintenancePolicyView = closed(
  { kb_id: idOf('KnowledgeBase'), ...fields, updated_at: nullable(Timestamp) },
  { $id: 'MaintenancePolicyView', description: 'How a knowledge base is maintained' },
);

export const MaintenancePolicyPut = closed(
  {
    schedule: Type.Optional(fields.schedule),
    timezone: Type.Optional(fields.timezone),
    tasks: Type.Optional(fields.tasks),
    duplicate_threshold: Type.Optional(fields.duplicate_threshold),
    auto_merge: Type.Optional(fields.auto_merge),
    stale_after_days: Type.Optional(fields.stale_after_days),
    retention_days: Type.Optional(fields.retention_days),
    max_pause_hours: Type.Optional(fields.max_pause_hours),
    judge_model: Type.Optional(fields.judge_model),
    decay: Type.Optional(fields.decay),
    allow_missing_embeddings: Type.Optional(fields.allow_missing_embeddings),
    golden_queries: Type.Optional(fields.golden_queries),
  },
  { $id: 'MaintenancePolicyPut', description: 'A complete policy: omitted fields take their defaults' },
);

/** The policy that a body asks for, with defaults for what it leaves out. */
export function toPolicyFields(body: Static<typeof MaintenancePolicyPut>): PolicyFields {
  return {
    schedule: body.schedule ?? defaultPolicy.schedule,
    timezone: body.timezone ?? defaultPolicy.timezone,
    tasks: body.tasks ?? defaultPolicy.tasks,
    duplicateThreshold: body.duplicate_threshold ?? defaultPolicy.duplicateThreshold,
    autoMerge: body.auto_merge ?? defaultPolicy.autoMerge,
    staleAfterDays: body.stale_after_days ?? defaultPolicy.staleAfterDays,
    retentionDays: body.retention_days ?? defaultPolicy.retentionDays,
    maxPauseHours: body.max_pause_hours ?? defaultPolicy.maxPauseHours,
    judgeModel: body.judge_model ?? defaultPolicy.judgeModel,
    decay: body.decay ?? defaultPolicy.decay,
    allowMissingEmbeddings: body.allow_missing_embeddings ?? defaultPolicy.allowMissingEmbeddings,
    goldenQueries: body.golden_queries ?? defaultPolicy.goldenQueries,
  };
}

/** The view of a policy. */
export function toMaintenancePolicyView(row: PolicyRow): Static<typeof MaintenancePolicyView> {
  return {
    kb_id: row.kbId,
    schedule: row.schedule,
    timezone: row.timezone,
    tasks: row.tasks.filter((task): task is MaintenanceTask => maintenanceTasks.some((known) => known === task)),
    duplicate_threshold: row.duplicateThreshold,
    auto_merge: row.autoMerge,
    stale_after_days: row.staleAfterDays,
    retention_days: row.retentionDays,
    max_pause_hours: row.maxPauseHours,
    judge_model: row.judgeModel,
    decay: row.decay,
    allow_missing_embeddings: row.allowMissingEmbeddings,
    golden_queries: row.goldenQueries.map(({ query, relevant, filters }) => ({
      query,
      relevant: [...relevant],
      ...(filters === undefined ? {} : { filters }),
    })),
    updated_at: iso(row.updatedAt),
  };
}
