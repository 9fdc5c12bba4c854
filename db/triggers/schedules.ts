import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Overlap } from './schedule.entity.ts';

/** The subject for which the runs of a schedule work; `id` is a template. */
export interface SubjectTemplate {
  readonly kind: 'user' | 'guest';
  readonly id: string;
}

/** The columns of a schedule that its firing and its sync need. */
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
  /** Null: no instant is left. */
  readonly next_run_at: string | null;
  /** The schedule does not fire for instants up to here; null: no bound. */
  readonly fires_after: string | null;
  readonly synced_version: number;
  readonly failure_streak: number;
  readonly created_by_user_id: string | null;
  readonly version: number;
  readonly created_at: string;
  readonly deleted_at: string | null;
}

const columns = `s.id, s.organization_id, s.workspace_id, s.agent_id, s.name, s.description, s.cron, s.every_seconds, s.run_at, s.timezone, s.dst, s.prompt_template,
  s.input_template, s.session_key_template, s.persona_slug_template, s.subject_template, s.overlap, s.catch_up_seconds, s.jitter_seconds, s.starts_at, s.ends_at,
  s.pause_after_failures, s.is_active, s.compiled, s.evaluated_until, s.next_run_at, s.fires_after, s.synced_version, s.failure_streak, s.created_by_user_id, s.version, s.created_at, s.deleted_at`;

/** Returns the row, deleted or not, or null when it is purged or another tenant's. */
export function readSchedule(tx: Pick<TenantTransaction, 'em'>, id: string): Promise<ScheduleRow | null> {
  return row<ScheduleRow>(tx.em, `select ${columns} from schedules s where s.id = ?`, [id]);
}

/** The same, locked until the end of the transaction. */
export function lockSchedule(tx: TenantTransaction, id: string): Promise<ScheduleRow | null> {
  return row<ScheduleRow>(tx.em, `select ${columns} from schedules s where s.id = ? for no key update`, [id]);
}

/** Returns the schedule that a tool call has created, or null before that. */
export function readScheduleOfCall(
  tx: TenantTransaction,
  toolCallId: string,
): Promise<{ readonly id: string; readonly description: string; readonly next_run_at: string | null } | null> {
  return row(tx.em, 'select s.id, s.description, s.next_run_at from schedules s where s.tool_call_id = ?', [toolCallId]);
}

/** Returns how many schedules of a tool will still fire; no other transaction counts them until this one ends. */
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

/** Returns the facts that decide whether a workspace may have one more schedule; no other transaction counts them until this one ends. */
export async function countSchedules(
  tx: TenantTransaction,
  { organizationId, workspaceId, agentId }: { readonly organizationId: string; readonly workspaceId: string; readonly agentId: string },
): Promise<{ readonly schedules: number; readonly hasAgent: boolean }> {
  // Requests count one after another, so that two at once can't both be the last.
  await rows(tx.em, 'select w.id from workspaces w where w.id = ? for no key update', [workspaceId]);
  const found = await row<{ schedules: number; has_agent: boolean }>(
    tx.em,
    `select (select count(*)::int from schedules s where s.workspace_id = ?::uuid and s.organization_id = ?::uuid and s.deleted_at is null) as schedules,
            exists (select from agents a where a.id = ?::uuid and a.deleted_at is null
              and (a.scope = 'platform' or (a.organization_id = ?::uuid and (a.workspace_id is null or a.workspace_id = ?::uuid)))) as has_agent`,
    [workspaceId, organizationId, agentId, organizationId, workspaceId],
  );
  return { schedules: found?.schedules ?? 0, hasAgent: found?.has_agent === true };
}
