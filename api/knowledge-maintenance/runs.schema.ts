import Type, { type Static } from 'typebox';
import { knowledgeRunStatuses } from '../../db/knowledge/runs/knowledge-run.entity.ts';
import { knowledgeRunKinds } from '../../workflows/contracts/knowledge/runs.ts';
import type { RunRow } from '../../db/knowledge/runs/runs.ts';
import { money } from '../../db/money.ts';
import { iso } from '../../db/sql.ts';
import { maintenanceTasks, type MaintenanceTask } from '../../domain/knowledge/upkeep/maintenance.ts';
import { ActorRef, closed, Decimal, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const RunParams = closed({ run_id: idOf('KnowledgeRun', 'The run, by the id that `GET /knowledge-maintenance-runs` shows') });

const RunError = closed(
  {
    stage: text(40),
    code: text(60),
    detail: text(500),
    item_id: nullable(idOf('KnowledgeItem')),
    source_id: nullable(idOf('KnowledgeSource')),
    chunk_ord: nullable(integer()),
    line: nullable(integer({ description: 'Line of the bundle, from 1' })),
    offset: nullable(integer({ description: 'Byte of the bundle, unpacked' })),
  },
  { $id: 'KnowledgeRunError', description: 'Something that a run could not do' },
);

export const MaintenanceRunView = closed(
  {
    id: idOf('KnowledgeRun'),
    kb_id: idOf('KnowledgeBase'),
    kind: oneOf(knowledgeRunKinds),
    tasks: listOf(oneOf(maintenanceTasks), { maxItems: 7 }),
    status: oneOf(knowledgeRunStatuses),
    paused_reason: nullable(text(60, { description: 'What it waits for' })),
    dry_run: Type.Boolean(),
    source_id: nullable(idOf('KnowledgeSource')),
    target_kb_id: nullable(idOf('KnowledgeBase', 'The base that a re-embed fills')),
    attachment_id: nullable(idOf('Attachment', 'The file that an export wrote or an import reads')),
    progress: closed({ stage: text(60), done: integer(), total: nullable(integer()) }, { $id: 'KnowledgeRunProgress' }),
    counts: Type.Record(Type.String({ maxLength: 60 }), integer(), { description: 'Counts of its work so far, by name' }),
    cost: closed({ estimate: nullable(Decimal), spent: Decimal, currency: text(3) }, { $id: 'KnowledgeRunCost' }),
    errors: listOf(RunError, { maxItems: 20, description: 'The first errors' }),
    error_count: integer(),
    result: nullable(FreeObject),
    cut_over_at: nullable(Timestamp),
    requested_by: ActorRef,
    created_at: Timestamp,
    started_at: nullable(Timestamp),
    finished_at: nullable(Timestamp),
  },
  { $id: 'MaintenanceRunView', description: 'Durable work on a knowledge base' },
);

export const RunFilters = closed({
  kb_id: Type.Optional(idOf('KnowledgeBase', 'Runs on this base')),
  kind: Type.Optional(oneOf(knowledgeRunKinds, { description: 'Runs of this kind' })),
  status: Type.Optional(oneOf(knowledgeRunStatuses, { description: 'Runs in this status' })),
});

export const BaseRunsParams = closed({ kb_id: idOf('KnowledgeBase', 'The base') });

export const MaintenanceRunCreate = closed(
  {
    tasks: listOf(oneOf(maintenanceTasks), {
      minItems: 1,
      maxItems: 7,
      uniqueItems: true,
      description: 'Always run in a fixed order: tasks that repair the index come first',
    }),
    dry_run: Type.Optional(
      Type.Boolean({ description: 'Only counts, changes nothing and asks no model. Defaults to true with repair, otherwise false' }),
    ),
    item_ids: Type.Optional(
      listOf(idOf('KnowledgeItem'), { minItems: 1, maxItems: 1_000, uniqueItems: true, description: 'Only these items' }),
    ),
  },
  { $id: 'MaintenanceRunCreate' },
);

/** The view of a run. */
export function toMaintenanceRunView(row: RunRow): Static<typeof MaintenanceRunView> {
  return {
    id: row.id,
    kb_id: row.kbId,
    kind: row.kind,
    tasks: row.tasks.filter((task): task is MaintenanceTask => maintenanceTasks.some((known) => known === task)),
    status: row.status,
    paused_reason: row.pausedReason,
    dry_run: row.dryRun,
    source_id: row.sourceId,
    target_kb_id: row.targetKbId,
    attachment_id: row.attachmentId,
    progress: { stage: row.progress.stage, done: row.progress.done, total: row.progress.total },
    counts: row.counts,
    cost: { estimate: row.costEstimate === null ? null : money(row.costEstimate), spent: money(row.costSpent), currency: row.currency },
    errors: row.errors.map(({ stage, code, detail, ids }) => ({
      stage,
      code,
      detail,
      item_id: ids.item_id ?? null,
      source_id: ids.source_id ?? null,
      chunk_ord: ids.chunk_ord ?? null,
      line: ids.line ?? null,
      offset: ids.offset ?? null,
    })),
    error_count: row.errorCount,
    result: row.result,
    cut_over_at: iso(row.cutOverAt),
    requested_by: row.requestedBy,
    created_at: iso(row.createdAt),
    started_at: iso(row.startedAt),
    finished_at: iso(row.finishedAt),
  };
}
