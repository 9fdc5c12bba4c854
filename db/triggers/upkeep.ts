import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../sql.ts';

/** A schedule that upkeep checks, with its tenant. */
export interface DueSchedule {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
}

const found = 'select s.id, s.organization_id, s.workspace_id from schedules s';

/** Returns schedules whose newest version has not reached Temporal for a minute. Sweeper's pool. */
export function unsyncedSchedules(em: SqlEntityManager, limit: number): Promise<DueSchedule[]> {
  return rows<DueSchedule>(
    em,
    `${found} where s.synced_version < s.version and s.updated_at < now() - interval '1 minute' order by s.updated_at limit ?`,
    [limit],
  );
}

/** Returns schedules whose next instant passed longer ago than their catch-up time: it did not fire. Sweeper's pool. */
export function overdueSchedules(em: SqlEntityManager, limit: number): Promise<DueSchedule[]> {
  return rows<DueSchedule>(
    em,
    `${found} where s.is_active and s.deleted_at is null and s.next_run_at < now() - make_interval(secs => s.catch_up_seconds + s.jitter_seconds + 60) order by s.next_run_at limit ?`,
    [limit],
  );
}

/** Returns schedules whose shifted instants were computed over a week ago. Sweeper's pool. */
export function schedulesToCompile(em: SqlEntityManager, limit: number): Promise<DueSchedule[]> {
  return rows<DueSchedule>(
    em,
    `${found} where s.is_active and s.deleted_at is null and s.cron is not null
       and coalesce((s.compiled ->> 'compiledAt')::bigint, 0) < extract(epoch from now() - interval '7 days') * 1000 order by s.id limit ?`,
    [limit],
  );
}

/** Returns schedules that will fire again and that were synced to Temporal minutes ago. Sweeper's pool. */
export function syncedSchedules(em: SqlEntityManager): Promise<DueSchedule[]> {
  return rows<DueSchedule>(
    em,
    `${found} where s.is_active and s.deleted_at is null and s.next_run_at is not null and s.synced_version = s.version
       and s.updated_at < now() - interval '2 minutes' order by s.id`,
    [],
  );
}
