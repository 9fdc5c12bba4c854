import type { OutboxMessage } from '../../workflows/contracts/outbox.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { scheduleChanged } from '../../workflows/contracts/triggers/triggers.ts';
import { newId } from '../ids.ts';
import { addOutbox } from '../outbox.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Overlap } from './schedule.entity.ts';
import type { ScheduleRow, SubjectTemplate } from './schedules.ts';

/** A schedule to be stored; `planSchedule` has checked and compiled its times. */
export interface NewSchedule {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly name: string;
  readonly description: string;
  readonly cron: string | null;
  readonly everySeconds: number | null;
  readonly runAt: Date | null;
  readonly timezone: string;
  readonly dst: ScheduleRow['dst'];
  readonly promptTemplate: string;
  readonly inputTemplate: Record<string, unknown> | null;
  readonly sessionKeyTemplate: string | null;
  readonly personaSlugTemplate: string | null;
  readonly subjectTemplate: SubjectTemplate | null;
  readonly overlap: Overlap;
  readonly catchUpSeconds: number;
  readonly jitterSeconds: number;
  readonly startsAt: Date | null;
  readonly endsAt: Date | null;
  readonly pauseAfterFailures: number;
  readonly isActive: boolean;
  readonly pauseReason?: string | null;
  readonly compiled: object;
  readonly nextRunAt: Date | null;
  readonly createdByUserId: string | null;
  /** The call and the tool through which a run created it; at most one schedule per call. */
  readonly toolCallId: string | null;
  readonly toolId: string | null;
  /** When `compiled` was made: earlier instants are not made up for. */
  readonly at: Date;
}

/** Stores the row of a schedule; returns its id. */
export async function insertSchedule(tx: TenantTransaction, schedule: NewSchedule): Promise<string> {
  const id = newId();
  const values = valuesOf(id, schedule);
  const names = Object.keys(values);
  await rows(tx.em, `insert into schedules (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`, Object.values(values));
  return id;
}

function valuesOf(id: string, schedule: NewSchedule): Record<string, unknown> {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  return {
    id,
    organization_id: schedule.organizationId,
    workspace_id: schedule.workspaceId,
    agent_id: schedule.agentId,
    name: schedule.name,
    description: schedule.description,
    cron: schedule.cron,
    every_seconds: schedule.everySeconds,
    run_at: schedule.runAt,
    timezone: schedule.timezone,
    dst: json(schedule.dst),
    prompt_template: schedule.promptTemplate,
    input_template: json(schedule.inputTemplate),
    session_key_template: schedule.sessionKeyTemplate,
    persona_slug_template: schedule.personaSlugTemplate,
    subject_template: json(schedule.subjectTemplate),
    overlap: schedule.overlap,
    catch_up_seconds: schedule.catchUpSeconds,
    jitter_seconds: schedule.jitterSeconds,
    starts_at: schedule.startsAt,
    ends_at: schedule.endsAt,
    pause_after_failures: schedule.pauseAfterFailures,
    is_active: schedule.isActive,
    pause_reason: schedule.pauseReason ?? null,
    compiled: json(schedule.compiled),
    next_run_at: schedule.nextRunAt,
    created_by_user_id: schedule.createdByUserId,
    tool_call_id: schedule.toolCallId,
    tool_id: schedule.toolId,
    evaluated_until: schedule.at,
    fires_after: schedule.at,
    created_at: schedule.at,
    updated_at: schedule.at,
  };
}

/** After the commit, makes Temporal's schedule match the newest row: `maint:trigger-sync:<id>`. */
export async function syncSchedule(
  tx: TenantTransaction,
  schedule: Pick<ScheduleRow, 'id' | 'organization_id' | 'workspace_id' | 'version'>,
  again = '',
): Promise<void> {
  await addOutbox(tx, syncMessage(schedule, tx.correlationId), {
    dedupeKey: `trigger-sync:${schedule.id}:${schedule.version}${again}`,
  });
}

function syncMessage(schedule: Pick<ScheduleRow, 'id' | 'organization_id' | 'workspace_id'>, correlationId: string): OutboxMessage {
  return {
    kind: 'workflow.start',
    workflowType: 'triggerSync',
    workflowId: workflowIds.triggerSync(schedule.id),
    taskQueue: taskQueues.bulk,
    args: [{ scheduleId: schedule.id }],
    organizationId: schedule.organization_id,
    workspaceId: schedule.workspace_id,
    correlationId,
    reuse: 'allow_duplicate',
    signal: scheduleChanged,
    priority: 3,
    searchAttributes: { SourceId: schedule.id },
  };
}

/** Records that Temporal did not accept a version of the row. */
export async function storeUnsynced(tx: TenantTransaction, id: string, version: number): Promise<void> {
  await rows(tx.em, "update schedules set sync_state = 'error' where id = ? and version = ? and synced_version < version", [id, version]);
}

/** Records that Temporal's schedule matches a version of the row; returns false when the row has a newer one. */
export async function storeSynced(tx: TenantTransaction, id: string, version: number): Promise<boolean> {
  const marked = await rows(
    tx.em,
    `update schedules set synced_version = ?, sync_state = 'synced' where id = ? and version = ? returning id`,
    [version, id, version],
  );
  return marked.length > 0;
}

/** Records up to where instants have been evaluated; this never moves back. */
export async function moveWatermark(
  tx: TenantTransaction,
  scheduleId: string,
  { until, nextRunAt }: { readonly until: Date; readonly nextRunAt: Date | null },
): Promise<void> {
  await rows(
    tx.em,
    'update schedules set evaluated_until = greatest(evaluated_until, ?::timestamptz), next_run_at = ?::timestamptz where id = ?',
    [until, nextRunAt, scheduleId],
  );
}

/** Moves a schedule past a regular instant; does nothing when it is past a later one already. */
export async function moveBehind(
  tx: TenantTransaction,
  scheduleId: string,
  { nominalAt, nextRunAt }: { readonly nominalAt: Date; readonly nextRunAt: Date | null },
): Promise<void> {
  await rows(
    tx.em,
    `update schedules set evaluated_until = greatest(evaluated_until, ?::timestamptz), last_occurrence_at = ?::timestamptz, next_run_at = ?::timestamptz 
      where id = ? and coalesce(last_occurrence_at, '-infinity') <= ?::timestamptz`,
    [nominalAt, nominalAt, nextRunAt, scheduleId, nominalAt],
  );
}

/** Stores a schedule's instants as the next version of its row. */
export async function storeInstants(tx: TenantTransaction, scheduleId: string, compiled: object): Promise<void> {
  await rows(tx.em, `update schedules set compiled = ?::jsonb, sync_state = 'pending', version = version + 1 where id = ?`, [
    JSON.stringify(compiled),
    scheduleId,
  ]);
}
