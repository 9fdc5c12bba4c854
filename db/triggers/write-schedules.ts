import { sql } from 'kysely';
import type { OutboxMessage } from '../../workflows/contracts/outbox.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { scheduleChanged } from '../../workflows/contracts/triggers/triggers.ts';
import { newId } from '../ids.ts';
import { addOutbox } from '../outbox.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Overlap, SubjectTemplate } from './schedule.entity.ts';
import type { ScheduleRow } from './schedules.ts';

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
  await change(tx.em, query.insertInto('schedules').values({ id, ...columnsOf(schedule) }));
  return id;
}

function columnsOf(schedule: NewSchedule) {
  return {
    organizationId: schedule.organizationId,
    workspaceId: schedule.workspaceId,
    agentId: schedule.agentId,
    name: schedule.name,
    description: schedule.description,
    cron: schedule.cron,
    everySeconds: schedule.everySeconds,
    runAt: schedule.runAt,
    timezone: schedule.timezone,
    dst: schedule.dst,
    promptTemplate: schedule.promptTemplate,
    inputTemplate: schedule.inputTemplate,
    sessionKeyTemplate: schedule.sessionKeyTemplate,
    personaSlugTemplate: schedule.personaSlugTemplate,
    subjectTemplate: schedule.subjectTemplate,
    overlap: schedule.overlap,
    catchUpSeconds: schedule.catchUpSeconds,
    jitterSeconds: schedule.jitterSeconds,
    startsAt: schedule.startsAt,
    endsAt: schedule.endsAt,
    pauseAfterFailures: schedule.pauseAfterFailures,
    isActive: schedule.isActive,
    pauseReason: schedule.pauseReason ?? null,
    compiled: { ...schedule.compiled },
    nextRunAt: schedule.nextRunAt,
    createdByUserId: schedule.createdByUserId,
    toolCallId: schedule.toolCallId,
    toolId: schedule.toolId,
    evaluatedUntil: schedule.at,
    firesAfter: schedule.at,
    createdAt: schedule.at,
    updatedAt: schedule.at,
  };
}

/** After the commit, makes Temporal's schedule match the newest row: `maint:trigger-sync:<id>`. */
export async function syncSchedule(
  tx: TenantTransaction,
  schedule: Pick<ScheduleRow, 'id' | 'organizationId' | 'workspaceId' | 'version'>,
  again = '',
): Promise<void> {
  await addOutbox(tx, syncMessage(schedule, tx.correlationId), {
    dedupeKey: `trigger-sync:${schedule.id}:${schedule.version}${again}`,
  });
}

function syncMessage(schedule: Pick<ScheduleRow, 'id' | 'organizationId' | 'workspaceId'>, correlationId: string): OutboxMessage {
  return {
    kind: 'workflow.start',
    workflowType: 'triggerSync',
    workflowId: workflowIds.triggerSync(schedule.id),
    taskQueue: taskQueues.bulk,
    args: [{ scheduleId: schedule.id }],
    organizationId: schedule.organizationId,
    workspaceId: schedule.workspaceId,
    correlationId,
    reuse: 'allow_duplicate',
    signal: scheduleChanged,
    priority: 3,
    searchAttributes: { SourceId: schedule.id },
  };
}

/** Records that Temporal did not accept a version of the row. */
export async function storeUnsynced(tx: TenantTransaction, id: string, version: number): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedules')
      .set(({ ref }) => ({ syncState: 'error', updatedAt: ref('updatedAt') }))
      .where('id', '=', id)
      .where('version', '=', version)
      .whereRef('syncedVersion', '<', 'version'),
  );
}

/** Records that Temporal's schedule matches a version of the row; returns false when the row has a newer one. */
export async function storeSynced(tx: TenantTransaction, id: string, version: number): Promise<boolean> {
  const marked = await change(
    tx.em,
    query
      .updateTable('schedules')
      .set(({ ref }) => ({ syncedVersion: version, syncState: 'synced', updatedAt: ref('updatedAt') }))
      .where('id', '=', id)
      .where('version', '=', version),
  );
  return marked > 0;
}

interface Watermark {
  readonly scheduleId: string;
  readonly until: Date;
  readonly nextRunAt: Date | null;
}

const movedWatermark = prepared(({ scheduleId, until, nextRunAt }: ParametersOf<Watermark>) =>
  query
    .updateTable('schedules')
    .set(({ ref }) => ({
      evaluatedUntil: sql<string>`greatest(evaluated_until, ${until}::timestamptz)`,
      nextRunAt,
      updatedAt: ref('updatedAt'),
    }))
    .where('id', '=', scheduleId),
);

/** Records up to where instants have been evaluated; this never moves back. */
export async function moveWatermark(
  tx: TenantTransaction,
  scheduleId: string,
  { until, nextRunAt }: { readonly until: Date; readonly nextRunAt: Date | null },
): Promise<void> {
  await change(tx.em, movedWatermark({ scheduleId, until, nextRunAt }));
}

interface Passed {
  readonly scheduleId: string;
  readonly nominalAt: Date;
  readonly nextRunAt: Date | null;
}

const movedBehind = prepared(({ scheduleId, nominalAt, nextRunAt }: ParametersOf<Passed>) =>
  query
    .updateTable('schedules')
    .set(({ ref }) => ({
      evaluatedUntil: sql<string>`greatest(evaluated_until, ${nominalAt}::timestamptz)`,
      lastOccurrenceAt: nominalAt,
      nextRunAt,
      updatedAt: ref('updatedAt'),
    }))
    .where('id', '=', scheduleId)
    .where(sql<boolean>`coalesce(last_occurrence_at, '-infinity') <= ${nominalAt}::timestamptz`),
);

/** Moves a schedule past a regular instant; does nothing when it is past a later one already. */
export async function moveBehind(
  tx: TenantTransaction,
  scheduleId: string,
  { nominalAt, nextRunAt }: { readonly nominalAt: Date; readonly nextRunAt: Date | null },
): Promise<void> {
  await change(tx.em, movedBehind({ scheduleId, nominalAt, nextRunAt }));
}

/** Stores a schedule's instants as the next version of its row. */
export async function storeInstants(tx: TenantTransaction, scheduleId: string, compiled: object): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedules')
      .set(({ eb, ref }) => ({
        compiled: { ...compiled },
        syncState: 'pending',
        version: eb('version', '+', 1),
        updatedAt: ref('updatedAt'),
      }))
      .where('id', '=', scheduleId),
  );
}
