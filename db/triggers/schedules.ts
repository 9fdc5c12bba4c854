import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { OutboxMessage } from '../../workflows/contracts/outbox.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { scheduleChanged } from '../../workflows/contracts/triggers.ts';
import { newId } from '../ids.ts';
import { addOutbox } from '../outbox.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Overlap } from './schedule.entity.ts';

/** For whom the runs of a schedule work; `id` is a template. */
export interface SubjectTemplate {
  readonly kind: 'user' | 'guest';
  readonly id: string;
}

/** A schedule's row as its firing and its sync see it. */
export interface ScheduleRow {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly name: string;
  readonly description: string;
  readonly cron: string | null;
  readonly every_seconds: number | null;
  readonly run_at: string | null;
  readonly timezone: string;
  readonly dst: { readonly gap: 'shift' | 'skip'; readonly repeat: 'once' | 'twice' };
  readonly prompt_template: string;
  readonly input_template: Record<string, unknown> | null;
  readonly session_key_template: string | null;
  readonly persona_slug_template: string | null;
  readonly subject_template: SubjectTemplate | null;
  readonly overlap: Overlap;
  readonly catch_up_seconds: number;
  readonly jitter_seconds: number;
  readonly starts_at: string | null;
  readonly ends_at: string | null;
  readonly pause_after_failures: number;
  readonly is_active: boolean;
  readonly compiled: Record<string, unknown>;
  readonly evaluated_until: string;
  /** Null: nothing is to come. */
  readonly next_run_at: string | null;
  /** Instants up to here are none of it; null: no bound. */
  readonly fires_after: string | null;
  readonly synced_version: number;
  readonly failure_streak: number;
  readonly created_by_user_id: string | null;
  readonly version: number;
  readonly created_at: string;
  readonly deleted_at: string | null;
}

/** A schedule to be made; its times have been checked and compiled by `planSchedule`. */
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
  /** The call and the tool by which a run made it; once a call. */
  readonly toolCallId: string | null;
  readonly toolId: string | null;
  /** What `compiled` was made at: instants up to here are not made up for. */
  readonly at: Date;
}

const limitSchedules = 500;

const columns = `s.id, s.organization_id, s.workspace_id, s.agent_id, s.name, s.description, s.cron, s.every_seconds, s.run_at, s.timezone, s.dst, s.prompt_template,
  s.input_template, s.session_key_template, s.persona_slug_template, s.subject_template, s.overlap, s.catch_up_seconds, s.jitter_seconds, s.starts_at, s.ends_at,
  s.pause_after_failures, s.is_active, s.compiled, s.evaluated_until, s.next_run_at, s.fires_after, s.synced_version, s.failure_streak, s.created_by_user_id, s.version, s.created_at, s.deleted_at`;

/**
 * Makes a schedule; creating never starts a run. Its clock is set after the commit. Throws 422 `reference` for an agent that does not live in
 * the workspace or wider, 409 `limit_reached` at 500 schedules of a workspace.
 */
export async function createSchedule(tx: TenantTransaction, schedule: NewSchedule): Promise<string> {
  const { organizationId, workspaceId } = schedule;
  // Counted one request after the other, so that two at once can't both be the last.
  await rows(tx.em, 'select w.id from workspaces w where w.id = ? for no key update', [workspaceId]);
  const found = await row<{ schedules: number; has_agent: boolean }>(
    tx.em,
    `select (select count(*)::int from schedules s where s.workspace_id = ?::uuid and s.organization_id = ?::uuid and s.deleted_at is null) as schedules,
            exists (select from agents a where a.id = ?::uuid and a.deleted_at is null
              and (a.scope = 'platform' or (a.organization_id = ?::uuid and (a.workspace_id is null or a.workspace_id = ?::uuid)))) as has_agent`,
    [workspaceId, organizationId, schedule.agentId, organizationId, workspaceId],
  );
  if (found?.has_agent !== true) throw invalid('/agent_id', 'reference', 'The agent does not exist in this workspace.', { kind: 'agent' });
  if (found.schedules >= limitSchedules)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `A workspace has at most ${limitSchedules} schedules.` });

  const id = newId();
  const values = valuesOf(id, schedule);
  const names = Object.keys(values);
  await rows(tx.em, `insert into schedules (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`, Object.values(values));
  await syncSchedule(tx, { id, organization_id: organizationId, workspace_id: workspaceId, version: 1 });
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

/** After the commit Temporal's schedule is made what the newest row says: `maint:trigger-sync:<id>`. */
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

/** The row, deleted or not; null when it is purged or foreign. */
export function readSchedule(tx: Pick<TenantTransaction, 'em'>, id: string): Promise<ScheduleRow | null> {
  return row<ScheduleRow>(tx.em, `select ${columns} from schedules s where s.id = ?`, [id]);
}

/** The same, locked to the end of the transaction. */
export function lockSchedule(tx: TenantTransaction, id: string): Promise<ScheduleRow | null> {
  return row<ScheduleRow>(tx.em, `select ${columns} from schedules s where s.id = ? for no key update`, [id]);
}

/** The schedule that a call of a tool has made; null before. */
export function readScheduleOfCall(
  tx: TenantTransaction,
  toolCallId: string,
): Promise<{ readonly id: string; readonly description: string; readonly next_run_at: string | null } | null> {
  return row(tx.em, 'select s.id, s.description, s.next_run_at from schedules s where s.tool_call_id = ?', [toolCallId]);
}

/** How many schedules of a tool still strike; until the transaction ends nobody else counts them. */
export async function countActiveOfTool(
  tx: TenantTransaction,
  place: { readonly workspaceId: string; readonly toolId: string },
): Promise<number> {
  await rows(tx.em, `select pg_advisory_xact_lock(hashtextextended('schedules-of-tool:' || ?::text || ?::text, 0))`, [
    place.workspaceId,
    place.toolId,
  ]);
  const found = await row<{ n: number }>(
    tx.em,
    `select count(*)::int as n from schedules s
      where s.workspace_id = ? and s.tool_id = ? and s.deleted_at is null and s.is_active and s.next_run_at is not null and (s.ends_at is null or s.ends_at > now())`,
    [place.workspaceId, place.toolId],
  );
  return found?.n ?? 0;
}

/** Notes that Temporal did not take what a version of the row says; the try after it goes on. */
export async function markUnsynced(tx: TenantTransaction, id: string, version: number): Promise<void> {
  await rows(tx.em, "update schedules set sync_state = 'error' where id = ? and version = ? and synced_version < version", [id, version]);
}

/** Notes that Temporal's schedule is as a version of the row says; false when the row has a newer one. */
export async function markSynced(tx: TenantTransaction, id: string, version: number): Promise<boolean> {
  const marked = await rows(
    tx.em,
    `update schedules set synced_version = ?, sync_state = 'synced' where id = ? and version = ? returning id`,
    [version, id, version],
  );
  return marked.length > 0;
}
